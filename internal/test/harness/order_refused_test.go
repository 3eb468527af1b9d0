package harness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestRejectedPrioritiesLeaveNoExtraRules checks repeated edits of paths and backends of an Ingress while AWS rejects
// new rule priorities. Every request gets its old or its new answer, and no extra rules accumulate. The desired state
// is reached after AWS accepts new priorities.
func TestRejectedPrioritiesLeaveNoExtraRules(t *testing.T) {
	t.Parallel()
	paths := []string{"/*", "/a/*", "/a/b", "/c"}
	asked := []string{"/", "/a/x", "/a/b", "/c", "/d"}
	seeds.Each(t, seeds.Amount(4, 8), func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			r := newShop(t)
			status := 200
			desired := func() string {
				var out []string
				for _, i := range random.Perm(len(paths))[:2+random.IntN(3)] {
					out = append(out, paths[i]+"="+[]string{"web", "act", "act"}[random.IntN(3)])
				}
				status++
				act := ingressAnnotations("actions.act", fmt.Sprintf(`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"%d"}}`, status))
				doc := strings.ReplaceAll(webIngress(act, out...), "Prefix", "ImplementationSpecific")
				return strings.ReplaceAll(doc, "{name: act, port: {number: 80}}", "{name: act, port: {name: use-annotation}}")
			}
			r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), desired())
			settleWithoutErrors(t, r)
			denyOperations(r, "SetRulePriorities")
			most := 0
			for edit := range 8 {
				old := map[string]string{}
				for _, p := range asked {
					old[p] = answerTo(r, 80, "shop.example.com", p)
				}
				doc := desired()
				next := expectedAnswers(doc, asked)
				for p, service := range next {
					if service == "act" {
						next[p] = fmt.Sprint(status)
					}
				}
				r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
					return fault.Action{After: func() {
						for _, p := range asked {
							now := answerTo(r, 80, "shop.example.com", p)
							if now != old[p] && now != next[p] && !strings.HasPrefix(now, "k8s-shop-"+next[p]) && !t.Failed() {
								t.Errorf("seed %d, edit %d, after %s: %s is answered by %s, before by %s, in the end by %s", seed, edit, c.Operation, p, now, old[p], next[p])
							}
						}
						most = max(most, len(rulesByPriority(r, 80)))
					}}
				})
				r.Apply(doc)
				editOften(r, "web", 30*time.Second, 20*time.Minute)
				r.Emulator.Faults().SetHook(nil)
				if edit < 7 {
					continue
				}
				t.Logf("seed %d: at most %d rules", seed, most)
				if most > 2*len(paths) {
					t.Errorf("seed %d: %d rules", seed, most)
				}
				r.Emulator.Faults().ClearRules()
				r.Settle(time.Hour)
				for _, p := range asked {
					if now := answerTo(r, 80, "shop.example.com", p); !strings.HasPrefix(now, "k8s-shop-"+next[p]) && now != next[p] {
						t.Errorf("seed %d: in the end %s is answered by %s instead of %s", seed, p, now, next[p])
					}
				}
				if n := len(rulesByPriority(r, 80)); n != strings.Count(doc, "pathType") {
					t.Errorf("seed %d: in the end there are %d rules instead of %d", seed, n, strings.Count(doc, "pathType"))
				}
			}
		})
	})
}

// expectedAnswers returns the backend of an Ingress for each requested path, or "default" if no rule matches. doc is
// the YAML of the Ingress, and asked has the requested paths.
func expectedAnswers(doc string, asked []string) map[string]string {
	type rule struct{ path, service string }
	var rules []rule
	for _, line := range strings.Split(doc, "\n") {
		_, after, ok := strings.Cut(line, "{path: ")
		if !ok {
			continue
		}
		path, rest, _ := strings.Cut(after, ",")
		_, rest, _ = strings.Cut(rest, "{name: ")
		service, _, _ := strings.Cut(rest, ",")
		rules = append(rules, rule{path, service})
	}
	out := map[string]string{}
	for _, p := range asked {
		out[p] = "default"
		if i := slices.IndexFunc(rules, func(r rule) bool {
			prefix, wild := strings.CutSuffix(r.path, "*")
			return r.path == p || wild && strings.HasPrefix(p, prefix)
		}); i >= 0 {
			out[p] = rules[i].service
		}
	}
	return out
}
