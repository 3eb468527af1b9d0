package harness

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// rulesByPriority returns copies of the rules in AWS on a port, ordered by priority, without the default rules.
func rulesByPriority(r *Harness, port int32) (out []*store.Rule) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	st := w.Partition(Account, Region).ELB
	for _, rule := range st.Rules {
		if st.Listeners[rule.Listener].Port == port && !rule.IsDefault() {
			c := *rule
			out = append(out, &c)
		}
	}
	slices.SortFunc(out, func(x, y *store.Rule) int { return cmp.Compare(x.Priority, y.Priority) })
	return out
}

// answerTo returns the result of the first rule on a port that matches a request: the status code of a fixed response,
// the name of a target group with traffic, "?" for another action, and "default" if no rule matches. at is the path.
func answerTo(r *Harness, port int32, host, at string) string {
	for _, rule := range rulesByPriority(r, port) {
		if matchesRequest(rule.Conditions, host, at) {
			return actionResult(r, rule.Actions)
		}
	}
	return "default"
}

// matchesRequest reports whether the conditions match a request. Conditions other than host and path never match.
func matchesRequest(conditions []elbtypes.RuleCondition, host, at string) bool {
	for _, c := range conditions {
		var values []string
		of := at
		switch {
		case c.HostHeaderConfig != nil && len(c.HostHeaderConfig.RegexValues) > 0:
			if !slices.ContainsFunc(c.HostHeaderConfig.RegexValues, func(expr string) bool { return regexp.MustCompile(expr).MatchString(host) }) {
				return false
			}
			continue
		case c.HostHeaderConfig != nil:
			values, of = c.HostHeaderConfig.Values, host
		case c.PathPatternConfig != nil:
			values = c.PathPatternConfig.Values
		}
		if !slices.ContainsFunc(values, func(v string) bool {
			// In path.Match, "*" does not match "/", but in AWS it does.
			ok, _ := path.Match(strings.ReplaceAll(v, "/", "\x00"), strings.ReplaceAll(of, "/", "\x00"))
			return ok
		}) {
			return false
		}
	}
	return true
}

func actionResult(r *Harness, actions []elbtypes.Action) string {
	last := actions[len(actions)-1]
	if last.FixedResponseConfig != nil {
		return *last.FixedResponseConfig.StatusCode
	}
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	groups := w.Partition(Account, Region).ELB.TargetGroups
	if last.ForwardConfig != nil {
		for _, g := range last.ForwardConfig.TargetGroups {
			if g.Weight == nil || *g.Weight > 0 || len(last.ForwardConfig.TargetGroups) == 1 {
				return groups[*g.TargetGroupArn].Name
			}
		}
	}
	if last.TargetGroupArn != nil {
		return groups[*last.TargetGroupArn].Name
	}
	return "?"
}

// memberWithStatus returns YAML of an Ingress in IngressGroup "team" with one rule for path at, which answers with a
// fixed status. order is its group.order.
func memberWithStatus(name, order, status, at string) string {
	doc := webIngress(ingressAnnotations("group.name", "team", "group.order", order,
		"actions.act", `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"`+status+`"}}`), at+"=act")
	doc = strings.Replace(doc, "{name: act, port: {number: 80}}", "{name: act, port: {name: use-annotation}}", 1)
	return strings.Replace(doc, "name: web\n", "name: "+name+"\n", 1)
}

// TestRejectedRuleTakesNothingFromAnother checks two members with rules for the same host and path, one of which has an
// action that AWS rejects. The valid rule answers requests in any order of rules and of creation, without interruption
// if it exists first. Only the member with the rejected rule is warned.
func TestRejectedRuleTakesNothingFromAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ good, bad string }{
		"behind it":  {"-1000", "1000"},
		"in front":   {"1000", "-1000"},
		"in between": {"0", "-1"},
	} {
		for _, first := range []string{"good", "bad", "together"} {
			t.Run(name+", first: "+first, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Apply(shop, memberWithStatus("other", "500", "201", "/other"))
					settleWithoutErrors(t, r)
					seen := map[string]bool{}
					r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
						return fault.Action{After: func() {
							seen[answerTo(r, 80, "shop.example.com", "/shared")] = true
						}}
					})
					good, bad := memberWithStatus("good", c.good, "200", "/shared"), memberWithStatus("bad", c.bad, "999", "/shared")
					switch first {
					case "good":
						r.Apply(good)
						settleWithoutErrors(t, r)
						clear(seen)
						r.Apply(bad)
					case "bad":
						r.Apply(bad)
						r.Settle(time.Hour)
						r.Apply(good)
					default:
						r.Apply(bad, good)
					}
					r.Settle(6 * time.Hour)
					if first == "good" && (len(seen) != 1 || !seen["200"]) && len(seen) > 0 {
						t.Errorf("answered with %v", seen)
					}
					if got := answerTo(r, 80, "shop.example.com", "/shared"); got != "200" {
						t.Errorf("at the end the answer is %s", got)
					}
					reported := warningsByObject(r)
					if len(reported["good"])+len(reported["other"]) > 0 {
						t.Errorf("warnings on the other members: %v", reported)
					}
					text := strings.Join(reported["bad"], "\n")
					for _, want := range []string{"RejectedByAWS", "spec.rules[0].http.paths[0]", "999", `path "/shared, /shared/*"`, "HeldRuleLeftOut", "Ingress shop/good"} {
						if !strings.Contains(text, want) {
							t.Errorf("the warnings on the member with the rejected rule lack %q:\n%s", want, text)
						}
					}
				})
			})
		}
	}
}

// TestRejectedDefaultActionIsReportedOnlyToItsOwner checks that a default action that AWS rejects is reported only on
// the member that sets it, even if another setting of the listener changes in the same call. Rules of the other member
// are changed.
func TestRejectedDefaultActionIsReportedOnlyToItsOwner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ bad, other string }{
		"new listener":   {},
		"live listener":  {bad: memberWithStatus("bad", "-1", "200", "/bad"), other: memberWithStatus("other", "500", "201", "/other")},
		"another change": {bad: memberWithStatus("bad", "-1", "200", "/bad"), other: withHTTPS(memberWithStatus("other", "500", "201", "/other"), "ELBSecurityPolicy-2016-08")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				with := func(doc string) string { return strings.ReplaceAll(doc, "CERTIFICATE", r.Seeded.Certs["example.com"]) }
				bad, other := withDefaultBackend(memberWithStatus("bad", "-1", "999", "/bad")), memberWithStatus("other", "500", "202", "/other")
				if name == "another change" {
					c.bad, bad, other = withHTTPS(c.bad, "ELBSecurityPolicy-2016-08"), withHTTPS(bad, "ELBSecurityPolicy-TLS13-1-2-2021-06"), withHTTPS(other, "ELBSecurityPolicy-TLS13-1-2-2021-06")
				}
				if c.bad != "" {
					r.Apply(shop, with(c.bad), with(c.other))
					settleWithoutErrors(t, r)
				}
				r.Apply(shop, with(bad), with(other))
				r.Settle(time.Hour)
				reported := warningsByObject(r)
				if text := strings.Join(reported["bad"], "\n"); !strings.Contains(text, "spec.defaultBackend") || !strings.Contains(text, "999") {
					t.Errorf("events on its owner: %q", text)
				}
				if len(reported["other"]) > 0 {
					t.Errorf("warnings on the other member: %q", reported["other"])
				}
				port := int32(80)
				if name == "another change" {
					port = 443
				}
				if got := answerTo(r, port, "shop.example.com", "/other"); got != "202" {
					t.Errorf("a request for /other is answered by %s", got)
				}
			})
		})
	}
}

// withHTTPS makes a member of an IngressGroup use HTTPS with a TLS policy. Callers must replace "CERTIFICATE" in the
// result by an ARN.
func withHTTPS(doc, policy string) string {
	more := ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", "CERTIFICATE", "ssl-policy", policy)
	return strings.Replace(doc, ", "+annotationPrefix+"group.name:", more+", "+annotationPrefix+"group.name:", 1)
}

// TestRejectedRulesDelayNoOtherMember checks that changes of a member are served within 30 seconds although AWS rejects
// many rules of another namespace. Rejected rules are tried again only within the budget of their namespace, and are
// otherwise left out of the plan.
func TestRejectedRulesDelayNoOtherMember(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]time.Duration{"after seconds": 20 * time.Second, "after minutes": 7 * time.Minute, "after an hour": time.Hour + 7*time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				// AWS also rejects the 503 that replaces such a rule, because it has the same conditions. Each rule is
				// created after the rules with shorter paths.
				var paths []string
				for i := range 16 {
					paths = append(paths, "/good/bad"+strings.Repeat("/x", i)+"=act")
				}
				bad := webIngress(ingressAnnotations("group.name", "team", "group.order", "-50", "actions.act", `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200"}}`,
					"conditions.act", `[{"field":"source-ip","sourceIpConfig":{"values":["nowhere"]}}]`), paths...)
				bad = strings.NewReplacer("{name: act, port: {number: 80}}", "{name: act, port: {name: use-annotation}}", "name: web\n", "name: bad\n").Replace(bad)
				docs := []string{strings.ReplaceAll(bad, "namespace: shop", "namespace: evil")}
				// The priority of this rule changes after the rejected rules are created.
				docs = append(docs, strings.ReplaceAll(memberWithStatus("fine", "-10", "200", "/good/fine"), "namespace: shop", "namespace: evil"))
				good := func(status string) string { return memberWithStatus("good", "500", status, "/good") }
				r.Apply(append(docs, shop, good("200"), memberWithStatus("other", "501", "200", "/other"))...)
				r.Settle(settle)
				for i := range 5 {
					status := fmt.Sprint(201 + i)
					r.Apply(good(status))
					r.Settle(30 * time.Second)
					if got := answerTo(r, 80, "shop.example.com", "/good"); got != status {
						t.Errorf("half a minute after change %d the answer is %s", i, got)
					}
				}
			})
		})
	}
}
