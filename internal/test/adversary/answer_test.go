package adversary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// answer is the answer to a request, with IDs replaced by the owners of the resources.
type answer struct {
	text      string
	isDefault bool // no rule matches: the listener's default action answers
}

// compiledRule is a rule prepared for matching requests.
type compiledRule struct {
	rule    *emulated.Rule
	matcher *dataplane.Matcher
	outcome dataplane.Rule
}

// loadBalancerPort identifies a port of the load balancer with ARN lb.
type loadBalancerPort struct {
	lb   string
	port int32
}

// readAnswers computes the answers of the load balancers to the requests of the victims' clients.
func (a *awsReading) readAnswers() {
	rules := a.rules(func(lb string) bool { return a.w.stackOfARN(lb) != "" })
	for _, r := range requests() {
		a.answers[r] = a.answerOf(rules[loadBalancerPort{a.w.lbs[r.stack], r.port}], r.facts())
	}
}

// answerTo computes the answer to one request.
func (w *testCluster) answerTo(lb string, port int32, host, path string) answer {
	a, unlock := w.lockAWSReading()
	defer unlock()
	rules := a.rules(func(arn string) bool { return arn == lb })
	return a.answerOf(rules[loadBalancerPort{lb, port}], request{host: host, path: path}.facts())
}

func (a *awsReading) answerOf(list []compiledRule, r dataplane.RequestFacts) answer {
	i := slices.IndexFunc(list, func(c compiledRule) bool { return c.matcher.Match(r) })
	if i < 0 {
		return answer{text: "connection refused"}
	}
	return answer{a.textOf(list[i].outcome), list[i].rule.IsDefault()}
}

// rules returns the rules of the load balancers for which of returns true, in the order of their evaluation.
func (a *awsReading) rules(of func(lb string) bool) map[loadBalancerPort][]compiledRule {
	rules := map[loadBalancerPort][]compiledRule{}
	for _, r := range a.p.ELB.Rules {
		l := a.p.ELB.Listeners[r.Listener]
		if l == nil || !of(l.LoadBalancer) {
			continue
		}
		then, err := serve.ConvertRule(r)
		if err != nil {
			a.w.rec.Errorf("a rule cannot be served: %v", err)
			continue
		}
		m, err := dataplane.Compile(then.Conditions)
		if err != nil {
			a.w.rec.Errorf("a rule cannot be matched: %v", err)
			continue
		}
		key := loadBalancerPort{l.LoadBalancer, l.Port}
		rules[key] = append(rules[key], compiledRule{r, m, then})
	}
	for _, list := range rules {
		slices.SortFunc(list, func(a, b compiledRule) int { // priority 0 is the default action
			return cmp.Or(cmp.Compare(boolToInt(a.rule.IsDefault()), boolToInt(b.rule.IsDefault())), cmp.Compare(a.rule.Priority, b.rule.Priority))
		})
	}
	return rules
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// heldAnswer is the answer of a rule that is held with a fixed response.
const heldAnswer = "fixed 503 of a held rule"

// textOf describes the actions of a rule.
func (a *awsReading) textOf(r dataplane.Rule) string {
	var parts []string
	for _, a := range r.Authenticators {
		switch a := a.(type) {
		case dataplane.OIDC:
			parts = append(parts, fmt.Sprintf("OIDC %s %s %s then", a.Issuer, a.ClientID, a.OnUnauthenticated))
		default:
			parts = append(parts, fmt.Sprintf("%T then", a))
		}
	}
	for _, t := range r.Transforms {
		parts = append(parts, fmt.Sprintf("rewrite %v then", t))
	}
	switch then := r.Action.(type) {
	case dataplane.Redirect:
		parts = append(parts, fmt.Sprintf("redirect %d %s://%s:%s%s?%s", then.Status, then.Protocol, then.Host, then.Port, then.Path, then.Query))
	case dataplane.FixedResponse:
		text := fmt.Sprintf("fixed %d", then.Status)
		if strings.HasPrefix(then.Body, "Rule is held") {
			text = heldAnswer
		}
		parts = append(parts, text)
	case dataplane.Forward:
		parts = append(parts, "forward to "+strings.Join(a.ownersOf(then), " or "))
	}
	return strings.Join(parts, " ")
}

// ownersOf returns the owners of the pods that receive the requests of a forward action.
func (a *awsReading) ownersOf(f dataplane.Forward) []string {
	var out []string
	for _, g := range f.TargetGroups {
		if g.Weight == 0 && len(f.TargetGroups) > 1 {
			continue
		}
		tg := a.p.ELB.TargetGroups[g.ARN]
		if tg == nil {
			out = append(out, "a missing target group")
			continue
		}
		for _, t := range tg.Targets {
			switch {
			case t.IsDraining():
			case !belongsToVictims(tg) && t.ID == replacedAddress && a.w.isReplacedAddressReused():
				out = append(out, "the attacker")
			default:
				out = append(out, a.w.ownerOf(t.ID, t.Port))
			}
		}
	}
	if len(out) == 0 {
		return []string{"nothing"}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isReplacedAddressReused reports whether the address of the pod that the victims' rollout replaced now belongs to a pod of
// the attacker.
func (w *testCluster) isReplacedAddressReused() bool {
	mine := false
	for _, o := range w.Store.All(cluster.KindPod) {
		if pod, ok := o.(*corev1.Pod); ok && pod.Status.PodIP == replacedAddress {
			if pod.Namespace != attackerNamespace {
				return false
			}
			mine = true
		}
	}
	return mine
}

// ownerOf returns the owner of the pod behind a target.
func (w *testCluster) ownerOf(id string, port int32) string {
	if id == replacementAddress {
		return "pay/web"
	}
	for _, o := range workloads() {
		if slices.Contains(o.pods, id) || strings.HasPrefix(id, "i-") && int32(o.nodePort) == port {
			return o.key()
		}
	}
	if slices.Contains(attackerAddresses, id) || strings.HasPrefix(id, "i-") {
		return "the attacker"
	}
	return "another owner at " + id
}
