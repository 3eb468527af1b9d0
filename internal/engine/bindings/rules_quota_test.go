package bindings_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// quotaAWS is a fakeAWS that refuses a call with which a security group would have more than most rules. As in AWS, the call
// then adds none of its rules.
type quotaAWS struct {
	*fakeAWS
	most int
}

func (a *quotaAWS) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	if len(authorize) > 0 && len(a.rules[group])+len(authorize) > a.most {
		return classedError{failure.Quota, "RulesPerSecurityGroupLimitExceeded"}
	}
	return a.fakeAWS.ChangeEndpointRules(ctx, group, authorize, revoke)
}

// quotaHarness has binding a, which admits port 8080, and a security group with a quota and with rules of the operator.
func quotaHarness(t *testing.T, most, operatorRules int) *harness {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2), bindingDoc("a", "web", "ip", 8080))
	for i := range operatorRules {
		w.aws.rules["sg-node"] = append(w.aws.rules["sg-node"], model.IngressRule{Protocol: "tcp", From: 22, To: 22, CIDR: fmt.Sprintf("198.51.100.%d/32", i)})
	}
	w.conf.Cloud = &quotaAWS{w.aws, most}
	w.restart()
	w.run("a")
	return w
}

// ownRules returns the rules of a security group without those of the operator.
func (w *harness) ownRules(group string) string {
	rules := strings.Split(w.aws.rulesOf(group), ", ")
	return strings.Join(slices.DeleteFunc(rules, func(r string) bool { return strings.HasPrefix(r, "tcp 22-22 ") }), ", ")
}

// TestRulesOfOtherBindingsStayAtTheQuota checks that a binding with more rules than a security group has room for does not
// cost another binding its rules, and that the rule with the ports of both replaces the rule of the other.
func TestRulesOfOtherBindingsStayAtTheQuota(t *testing.T) {
	w := quotaHarness(t, 20, 0)
	var peers strings.Builder
	for i := range 30 {
		fmt.Fprintf(&peers, ", {ipBlock: {cidr: 192.0.2.%d/32}}", i)
	}
	w.putObjects(strings.Replace(bindingDoc("b", "other", "ip", 9090), "groupID: sg-b}}", "groupID: sg-b}}"+peers.String(), 1))
	for range 3 {
		w.run("b")
		if got := w.aws.rulesOf("sg-node"); !strings.Contains(got, "tcp 8080-9090 sg-b") || strings.Contains(got, "8080-8080") || len(w.aws.rules["sg-node"]) != 20 {
			t.Fatalf("rules %s", got)
		}
	}
}

// TestFullSecurityGroupGetsTheRuleThatReplacesAnother checks that a rule with more ports replaces the rule with fewer ports
// in a security group without room for both, and that the missing rule is reported.
func TestFullSecurityGroupGetsTheRuleThatReplacesAnother(t *testing.T) {
	w := quotaHarness(t, 4, 3)
	w.putObjects(strings.Replace(bindingDoc("b", "other", "ip", 9090), "ports: [", "ports: [{protocol: UDP, port: 53}, ", 1))
	out := w.run("b")
	checkEqual(t, "rules", "tcp 8080-9090 sg-b", w.ownRules("sg-node"))
	if f := out.Findings; len(f) != 1 || f[0].Reason != finding.QuotaReached || !strings.Contains(f[0].Message, "would have 5 rules") {
		t.Errorf("findings %v", f)
	}
	w.conf.Cloud.(*quotaAWS).most++
	w.run("b")
	checkEqual(t, "with room", "tcp 8080-9090 sg-b, udp 53-53 sg-b", w.ownRules("sg-node"))
}

// TestRemovedRuleIsRestoredIfItsReplacementDoesNotFit checks that a rule stays if AWS refuses the rule that replaces it.
func TestRemovedRuleIsRestoredIfItsReplacementDoesNotFit(t *testing.T) {
	w := quotaHarness(t, 1, 0)
	w.aws.refusedItems["sg-c"] = failure.Quota
	w.putObjects(strings.ReplaceAll(bindingDoc("a", "web", "ip", 8080), "sg-b", "sg-c"))
	w.run("a")
	checkEqual(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	delete(w.aws.refusedItems, "sg-c")
	w.run("a")
	checkEqual(t, "rules during the back-off", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	w.now = w.now.Add(durations.Requeue)
	w.run("a")
	checkEqual(t, "with room", "tcp 8080-8080 sg-c", w.aws.rulesOf("sg-node"))
}

// TestAnotherChangeIsMadeDuringTheBackOff checks that the back-off of a refused change of rules ends at once when the binding
// needs other rules.
func TestAnotherChangeIsMadeDuringTheBackOff(t *testing.T) {
	w := quotaHarness(t, 1, 0)
	w.aws.refusedItems["sg-c"] = failure.Quota
	for _, source := range []string{"sg-c", "sg-d"} {
		w.putObjects(strings.ReplaceAll(bindingDoc("a", "web", "ip", 8080), "sg-b", source))
		w.run("a")
	}
	checkEqual(t, "rules", "tcp 8080-8080 sg-d", w.aws.rulesOf("sg-node"))
}

// TestInvalidRuleDoesNotBlockAFullSecurityGroup checks that an invalid rule of one binding, in a security group without room,
// prevents neither that the rule of another binding is replaced, nor that it is removed.
func TestInvalidRuleDoesNotBlockAFullSecurityGroup(t *testing.T) {
	for name, room := range map[string]int{"full": 0, "with room": 5} {
		w := quotaHarness(t, 4+room, 3)
		w.aws.refusedItems["sg-gone"] = failure.Invalid
		w.putObjects(strings.ReplaceAll(bindingDoc("b", "other", "ip", 7070), "sg-b", "sg-gone"))
		w.run("b")
		w.putObjects(bindingDoc("a", "web", "ip", 9090))
		w.run("a")
		checkEqual(t, name, "tcp 9090-9090 sg-b", w.ownRules("sg-node"))
		w.putObjects(strings.ReplaceAll(bindingDoc("a", "web", "ip", 7070), "sg-b", "sg-c"))
		w.run("a")
		checkEqual(t, name+", another port", "tcp 7070-7070 sg-c", w.ownRules("sg-node"))
	}
}

// familyQuotaAWS is a fakeAWS that refuses to add rules for IPv6 ranges. AWS counts these apart from the rules for IPv4 ranges.
type familyQuotaAWS struct{ *fakeAWS }

func (a familyQuotaAWS) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	if slices.ContainsFunc(authorize, func(r model.IngressRule) bool { return strings.Contains(r.CIDR, ":") }) {
		return classedError{failure.Quota, "RulesPerSecurityGroupLimitExceeded"}
	}
	return a.fakeAWS.ChangeEndpointRules(ctx, group, authorize, revoke)
}

// TestRuleDoesNotWaitForRoomOfAnotherAddressFamily checks that a rule for an IPv4 range is removed at once, although a rule of
// another binding for an IPv6 range and the same port has no room.
func TestRuleDoesNotWaitForRoomOfAnotherAddressFamily(t *testing.T) {
	withRange := func(name, service, cidr string) string {
		return strings.Replace(bindingDoc(name, service, "ip", 8080), "groupID: sg-b}}", "groupID: sg-b}}, {ipBlock: {cidr: "+cidr+"}}", 1)
	}
	w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2), withRange("a", "web", "192.0.2.0/24"))
	w.conf.Cloud = familyQuotaAWS{w.aws}
	w.restart()
	w.run("a")
	w.putObjects(withRange("b", "other", "\"2001:db8::/64\""))
	w.run("b")
	w.putObjects(bindingDoc("a", "web", "ip", 8080))
	w.run("a")
	w.aws.takeLog()
	w.run("b")
	if got, log := w.aws.rulesOf("sg-node"), w.aws.takeLog(); strings.Contains(got, "192.0.2.0") || strings.Contains(fmt.Sprint(log), "revoke") {
		t.Errorf("rules %s; last calls %v", got, log)
	}
}

// TestNoChangeAtTheQuotaCostsTraffic changes the ports and sources of bindings at random, at a small quota. It checks that
// no run ends with less of the traffic that bindings request than before.
func TestNoChangeAtTheQuotaCostsTraffic(t *testing.T) {
	refused := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 71))
		w := quotaHarness(t, 1+r.IntN(5), 0)
		w.conf.UnmergedRules = r.IntN(2) == 0
		w.restart()
		requested := map[string]map[string]bool{}
		admits := func(traffic string) bool {
			var port int32
			var source string
			if _, err := fmt.Sscanf(traffic, "%d %s", &port, &source); err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(w.aws.rules["sg-node"], func(r model.IngressRule) bool { return r.Group == source && r.From <= port && r.To >= port })
		}
		for range 20 {
			name := []string{"a", "b"}[r.IntN(2)]
			if r.IntN(2) == 0 {
				var rules []string
				requested[name] = map[string]bool{}
				for range 1 + r.IntN(3) {
					port, source := 8080+r.IntN(4), []string{"sg-b", "sg-c"}[r.IntN(2)]
					requested[name][fmt.Sprintf("%d %s", port, source)] = true
					rules = append(rules, fmt.Sprintf("{from: [{securityGroup: {groupID: %s}}], ports: [{protocol: TCP, port: %d}]}", source, port))
				}
				doc := bindingDoc(name, map[string]string{"a": "web", "b": "other"}[name], "ip", 8080)
				w.putObjects(doc[:strings.Index(doc, "{ingress: [")] + "{ingress: [" + strings.Join(rules, ", ") + "]}\n")
			}
			before := map[string]bool{}
			for _, of := range requested {
				for traffic := range of {
					before[traffic] = admits(traffic)
				}
			}
			w.aws.takeLog()
			for _, f := range w.run(name).Findings {
				if f.Reason == finding.QuotaReached {
					refused++
				}
			}
			for traffic, did := range before {
				if did && !admits(traffic) {
					t.Fatalf("seed %d: port %s is not admitted any more; rules %s; %s", seed, traffic, w.aws.rulesOf("sg-node"), w.aws.takeLog())
				}
			}
		}
	}
	if refused < 20 {
		t.Errorf("the quota was reached only %d times", refused)
	}
}
