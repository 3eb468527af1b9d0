package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

func init() {
	consentScenarios["default backend"] = defaultBackendScenario
	consentScenarios["Ingress that moves at once"] = movedIngressScenario
}

// defaultBackend returns Ingress "team/web" with rules and a default backend.
func defaultBackend(notes ...string) string {
	return strings.Replace(pinnedIngress(notes...), "  rules:", "  defaultBackend: {service: {name: web, port: {number: 80}}}\n  rules:", 1)
}

// defaultForwards lists the target groups of namespace "team" to which default actions forward.
func defaultForwards(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	st := w.Partition(Account, Region).ELB
	for _, l := range st.Listeners {
		for _, a := range st.Rules[l.DefaultRule].Actions {
			if a.ForwardConfig != nil {
				for _, g := range a.ForwardConfig.TargetGroups {
					if strings.HasPrefix(st.TargetGroups[*g.TargetGroupArn].Tags["ingress.k8s.aws/resource"], "team/") {
						out = append(out, *g.TargetGroupArn)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// defaultBackendScenario is a member of an IngressGroup whose default backend is the default action of the listener.
var defaultBackendScenario = func() consentScenario {
	a := ingressScenario
	ingress := ingressScenario.docs
	a.docs = func(t *testing.T) []string { return append(ingress(t), defaultBackend()) }
	a.serving = defaultForwards
	a.holdCauses = entriesOf(ingressScenario.holdCauses, "not held", "alone")
	a.holdCauses["unreadable ports"] = func(r *Harness) { r.Apply(defaultBackend("listen-ports", "nonsense")) }
	a.holdCauses["unreadable order"] = func(r *Harness) { r.Apply(defaultBackend("group.order", "nonsense")) }
	a.holdCauses["refused by AWS"] = func(r *Harness) {
		refuseOperations("CreateTargetGroup")(r)
		r.Apply(defaultBackend("backend-protocol", "HTTPS"))
	}
	a.harmlessEvents = entriesOf(ingressScenario.harmlessEvents, "the class is gone", "the parameters are gone")
	return a
}()

// movedIngressScenario is an Ingress whose permission is withdrawn at about the time when its order or IngressGroup,
// or that of the other member, changes.
var movedIngressScenario = func() consentScenario {
	a := ingressScenario
	a.harmlessEvents, a.withdrawals = nil, map[string]func(r *Harness){}
	a.holdCauses = entriesOf(ingressScenario.holdCauses, "not held", "too large", "unreadable value")
	for edge, withdraw := range ingressScenario.withdrawals {
		for order, notes := range map[string][]string{"first": {"group.order", "-5"}, "last": {"group.order", "900"}, "another group": {"group.name", "other"}} {
			a.withdrawals[edge+", "+order] = func(r *Harness) {
				r.Apply(pinnedIngress(notes...))
				withdraw(r)
			}
			a.withdrawals[edge+", then "+order] = func(r *Harness) {
				withdraw(r)
				r.Apply(pinnedIngress(notes...))
			}
			a.withdrawals["neighbour "+order+", "+edge] = func(r *Harness) {
				if obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "a"}); obj != nil {
					r.Apply(ingressInNamespace("shop", "a", "pinned", "a.example.com", "", notes...))
				}
				withdraw(r)
			}
		}
	}
	return a
}()
