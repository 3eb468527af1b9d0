package adversary

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// ingressWithRules returns a move that writes an Ingress of the attacker with n rules, of which AWS accepts only some.
func ingressWithRules(r *rand.Rand, n int) move {
	var paths []string
	prefix := fmt.Sprintf("/%c", 'a'+rune(r.IntN(3)))
	act := r.IntN(3) == 0 // rules without a target group, so that their owner is unknown in AWS
	for i := range n {
		backend := "{name: app, port: {number: 80}}"
		if act {
			backend = "{name: act, port: {name: use-annotation}}"
		}
		paths = append(paths, fmt.Sprintf("{path: %s%d, pathType: Exact, backend: {service: %s}}", prefix, i, backend))
	}
	return move{documents: fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: x%d
  namespace: evil
  annotations:
%sspec:
  ingressClassName: alb
  rules: [{host: evil.example.com, http: {paths: [%s]}}]
`, r.IntN(2), annotations("group.name", "open", "group.order", []string{"-1000", "15", "1000"}[r.IntN(3)], "target-type", "ip",
		"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "actions.act", `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404"}}`), strings.Join(paths, ", "))}
}

// TestRulesOverQuotaDoNotDelayEditsOfOthers checks that, while the attacker has more rules than the quota allows and
// changes, deletes and recreates them, each edit of a victim's paths, hosts and backends is applied in the usual
// time, and other victims are not affected.
func TestRulesOverQuotaDoNotDelayEditsOfOthers(t *testing.T) {
	t.Parallel()
	seeds.Each(t, seeds.Amount(4, 12), func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 17))
		runCase(t, fmt.Sprint("seed ", seed), setup{access: openClass}, func(w *testCluster) {
			w.stopComparison()
			h := ingresses()["pay/shop"]
			routes := func() (out []route) {
				for i := range 3 {
					out = append(out, route{
						[]string{"shop.example.com", "pay.example.com"}[r.IntN(2)], fmt.Sprintf("/%d/%d", i, r.IntN(4)), []string{"web", "api"}[r.IntN(2)],
					})
				}
				return out
			}
			check := func(when string) {
				t.Helper()
				w.comparisonMutex.Lock()
				defer w.comparisonMutex.Unlock()
				for _, a := range append(h.routes, route{"blog.example.com", "/", "blog/blog"}, route{"extra.example.com", "/", "blog/extra"}) {
					want := "forward to pay/" + a.service
					if strings.Contains(a.service, "/") {
						want = "forward to " + a.service
					}
					if got := w.answerTo(w.lbs["open"], 443, a.host, a.path); !strings.HasPrefix(got.text, want) {
						w.rec.Errorf("%s: %s%s is answered with %q, want %q; events %v", when, a.host, a.path, got.text, want, w.log.warningsAbout("Ingress pay/shop"))
					}
				}
			}
			h.routes = routes()
			w.apply(h.docs())
			w.advanceAndCompare(longRunTime)
			check("before the attack")
			w.setQuota("rules-per-application-load-balancer", w.countSharedRules()+r.IntN(6))
			w.attackWith(attackerBackends)
			for n := range 12 {
				switch r.IntN(4) {
				case 0:
					w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindIngress, Namespace: "evil", Name: fmt.Sprint("x", r.IntN(2))}})
				default:
					w.attack(ingressWithRules(r, 5+r.IntN(30)))
				}
				if r.IntN(3) > 0 {
					w.advanceAndCompare(longRunTime)
				}
				what := "the attacker's move"
				if r.IntN(3) > 0 {
					h.routes = routes()
					w.apply(h.docs())
					what = "an edit"
				}
				w.advanceAndCompare(maxChangeTime)
				check(fmt.Sprintf("%d, %s", n, what))
				if w.rec.Failed() {
					return
				}
			}
		})
	})
}

// countSharedRules returns the number of rules of IngressGroup "open", without default rules.
func (w *testCluster) countSharedRules() (n int) {
	p, unlock := w.partition()
	defer unlock()
	for _, rule := range p.ELB.Rules {
		if !rule.IsDefault() && p.ELB.Listeners[rule.Listener].LoadBalancer == w.lbs["open"] {
			n++
		}
	}
	return n
}
