package harness

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// The consent tests check every permission that can be withdrawn with every cause of a hold: no rule or listener that
// needed the permission serves after the withdrawal.

// consentObjects are the objects around a Gateway of namespace "shop" and a route of namespace "team": class,
// configuration, and a Service of namespace "bank" with a ReferenceGrant for the route.
const consentObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: edge, namespace: shop}
spec: {scheme: internal}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: bank, name: web}
spec: {targetReference: {name: web}, defaultConfiguration: {targetType: ip}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {edge: allowed}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: bank}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
` + bankGrant

const bankGrant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {namespace: bank, name: team}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: team}]
  to: [{group: "", kind: Service}]
---
`

// edgeWithSpec returns Gateway "shop/edge" with these lines in its spec, such as its listeners.
func edgeWithSpec(spec string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, uid: 33333333-0000-4000-8000-000000000001}
spec:
  gatewayClassName: alb
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}
  ` + spec + `
---
`
}

const (
	allowLabelledRoutes = `allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {edge: allowed}}}}`
	openListener        = `{name: http, port: 80, protocol: HTTP, ` + allowLabelledRoutes + `}`
)

// teamRoute returns HTTPRoute "team/r". rule has the matches of its first rule, or is "" for all paths. more has
// further rules.
func teamRoute(rule, more string) string {
	if rule == "" {
		rule = "matches: [{path: {type: PathPrefix, value: /}}]"
	}
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: shop}]
  hostnames: [team.example.com]
  rules:
  - ` + rule + `
    backendRefs: [{name: web, namespace: bank, port: 80}]
` + more + `
---
`
}

// manyRules returns more rules for teamRoute than a namespace may have in these tests.
func manyRules() string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "  - matches: [{path: {type: PathPrefix, value: /p%d}}]\n    backendRefs: [{name: web, namespace: bank, port: 80}]\n", i)
	}
	return b.String()
}

// holdCauses are events that cause a hold of a Gateway or its route. "not held" is for comparison.
var holdCauses = map[string]func(r *Harness){
	"not held":  func(*Harness) {},
	"too large": func(r *Harness) { r.Apply(teamRoute("", manyRules())) },
	"conditions that AWS does not take": func(r *Harness) {
		r.Apply(teamRoute("matches: [{path: {type: PathPrefix, value: /}, headers: [{name: x, value: "+strings.Repeat("x", 200)+"}]}]", ""))
	},
	"authentication on HTTP": func(r *Harness) {
		r.Apply(`
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {name: login, namespace: team}
spec: {actions: [{type: authenticate-cognito, authenticateCognitoConfig: {userPoolArn: "arn:aws:cognito-idp:us-west-2:123456789012:userpool/p", userPoolClientId: c, userPoolDomain: d}}]}
---`, teamRoute("matches: [{path: {type: PathPrefix, value: /}}]\n    filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: login}}]", ""))
	},
	"refused by AWS": func(r *Harness) {
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			if c.Operation == "CreateRule" {
				return fault.Action{Error: &store.Error{Status: http.StatusBadRequest, Code: "ValidationError", Message: "refused"}}
			}
			return fault.Action{}
		})
		r.Apply(teamRoute("matches: [{path: {type: PathPrefix, value: /}, method: GET}, {path: {type: PathPrefix, value: /}}]", ""))
	},
	"configuration missing": func(r *Harness) { r.forceDelete(cluster.KindLoadBalancerConfiguration, "shop", "edge") },
	"configuration wrong": func(r *Harness) {
		r.Apply("apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\nspec: {scheme: nonsense}\n---\n")
	},
	"class missing": func(r *Harness) { r.forceDelete(cluster.KindGatewayClass, "", "alb") },
	"replaced": func(r *Harness) {
		r.Apply("apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\nspec: {scheme: internet-facing}\n---\n")
	},
}

// withdrawals are the ways to withdraw the permissions that a Gateway route of another namespace needs.
var withdrawals = map[string]func(r *Harness){
	"ReferenceGrant": func(r *Harness) { r.deleteObject(cluster.KindReferenceGrant, "bank", "team") },
	"ReferenceGrant for another name": func(r *Harness) {
		r.Apply(strings.Replace(bankGrant, `kind: Service}`, `kind: Service, name: other}`, 1))
	},
	"label of the namespace": func(r *Harness) {
		r.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n")
	},
	"allowedRoutes": func(r *Harness) {
		r.Apply(edgeWithSpec(`listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Same}}}]`))
	},
	"allowedRoutes.kinds": func(r *Harness) {
		r.Apply(edgeWithSpec(`listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}], namespaces: {from: All}}}]`))
	},
	"hostname of the listener": func(r *Harness) {
		r.Apply(edgeWithSpec(`listeners: [{name: http, port: 80, protocol: HTTP, hostname: shop.example.com, ` + allowLabelledRoutes + `}]`))
	},
	"a more specific listener": func(r *Harness) {
		r.Apply(edgeWithSpec(`listeners: [` + openListener + `, {name: team, port: 80, protocol: HTTP, hostname: team.example.com, allowedRoutes: {namespaces: {from: Same}}}]`))
	},
	"port": func(r *Harness) {
		r.Apply(edgeWithSpec(`listeners: [{name: http, port: 8080, protocol: HTTP, ` + allowLabelledRoutes + `}]`))
	},
}

// forceDelete removes the finalizers of an object and deletes it.
func (r *Harness) forceDelete(kind cluster.Kind, namespace, name string) {
	r.T.Helper()
	ref := cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
	obj, err := r.Store.Get(ref)
	if err != nil || obj == nil {
		r.T.Fatal(ref, err)
	}
	bare := obj.DeepCopyObject().(cluster.Object)
	bare.SetFinalizers(nil)
	if _, err := r.Store.Update(bare, cluster.MainPart); err != nil {
		r.T.Fatal(err)
	}
	r.deleteObject(kind, namespace, name)
}

// targetGroupsForHost returns a function that lists the ARNs of the target groups to which rules and default actions
// of a port forward requests for a host, on any load balancer.
func targetGroupsForHost(port int32, host string) func(r *Harness) []string {
	return func(r *Harness) (out []string) {
		w := r.Emulator.Store()
		w.Lock()
		defer w.Unlock()
		st := w.Partition(Account, Region).ELB
		for _, rule := range st.Rules {
			if st.Listeners[rule.Listener].Port != port || !matchesRequest(rule.Conditions, host, "/") {
				continue
			}
			for _, a := range rule.Actions {
				if a.ForwardConfig != nil {
					for _, g := range a.ForwardConfig.TargetGroups {
						out = append(out, *g.TargetGroupArn)
					}
				}
			}
		}
		slices.Sort(out)
		return out
	}
}

// presentedCertificates returns a function that lists the ARNs of the certificates for a host that listeners present.
func presentedCertificates(host string) func(r *Harness) []string {
	return func(r *Harness) (out []string) {
		w := r.Emulator.Store()
		w.Lock()
		defer w.Unlock()
		p := w.Partition(Account, Region)
		for _, l := range p.ELB.Listeners {
			for _, arn := range append(slices.Clone(l.SNI), l.Certificate) {
				if c := p.ACM.Certificates[arn]; c != nil && c.Domain == host {
					out = append(out, arn)
				}
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
}

// consentScenario is a cluster in which a rule, listener or certificate is served by permission of another namespace.
type consentScenario struct {
	options func(o *Options)
	docs    func(t *testing.T) []string
	// serving lists what AWS has for the configuration that needs the permission. It is empty if nothing is served.
	serving func(r *Harness) []string
	// holdCauses are events that cause a hold, and withdrawals are events that withdraw the permission.
	holdCauses, withdrawals map[string]func(r *Harness)
	// harmlessEvents are events that do not withdraw the permission. The configuration is still served after them.
	harmlessEvents map[string]func(r *Harness)
}

func (a consentScenario) startServing(t *testing.T) *Harness {
	opt := Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType, o.MaxRules = model.IPTargets, 10 }}
	if a.options != nil {
		a.options(&opt)
	}
	r := shopWith(t, opt)
	r.Apply(a.docs(t)...)
	r.Settle(10 * time.Minute)
	if len(a.serving(r)) == 0 {
		t.Fatal("the configuration is not served before the test")
	}
	return r
}

var consentScenarios = map[string]consentScenario{
	"HTTPRoute":   httpScenario,
	"ListenerSet": listenerSetScenario,
	"TCPRoute":    tcpScenario,
	"UDP":         udpScenario,
	"certificate": certificateScenario,
	"Ingress":     ingressScenario,
}

// consentCase is one test case: the name of a consentScenario, of a withdrawal or harmless event, and of the cause of
// the hold at that time.
type consentCase struct{ kind, event, holdCause string }

func (c consentCase) values() []string { return []string{c.kind, c.event, c.holdCause} }

func (c consentCase) String() string { return strings.Join(c.values(), "/") }

// consentCases returns a small selection of cases that has each event and each hold cause of each scenario, or all
// combinations in long test runs. edges returns the events of a scenario.
func consentCases(edges func(consentScenario) map[string]func(r *Harness)) []consentCase {
	var all []consentCase
	for _, kind := range slices.Sorted(maps.Keys(consentScenarios)) {
		for _, edge := range slices.Sorted(maps.Keys(edges(consentScenarios[kind]))) {
			for _, way := range slices.Sorted(maps.Keys(consentScenarios[kind].holdCauses)) {
				all = append(all, consentCase{kind, edge, way})
			}
		}
	}
	if seeds.Long() {
		return all
	}
	var parts [][]string
	for _, c := range all {
		parts = append(parts, []string{c.kind + " by " + c.event, c.kind + " held by " + c.holdCause})
	}
	var out []consentCase
	for _, i := range seeds.Cover(parts) {
		out = append(out, all[i])
	}
	return out
}

func TestWithdrawnConsentStopsTraffic(t *testing.T) {
	t.Parallel()
	for _, c := range consentCases(func(a consentScenario) map[string]func(r *Harness) { return a.withdrawals }) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := consentScenarios[c.kind]
				r := a.startServing(t)
				a.holdCauses[c.holdCause](r)
				r.Settle(time.Minute)
				if len(a.serving(r)) == 0 {
					t.Fatal("the held configuration is not served")
				}
				a.withdrawals[c.event](r)
				for _, horizon := range []time.Duration{time.Second, time.Hour} { // the next run, and all later runs
					r.Settle(horizon)
					if got := a.serving(r); len(got) > 0 {
						t.Errorf("after %s requests get %s", horizon, got)
					}
				}
			})
		})
	}
}

// TestUnknownConsentKeepsServing checks that a configuration is held if it is unknown whether its permission was
// withdrawn.
func TestUnknownConsentKeepsServing(t *testing.T) {
	t.Parallel()
	for _, c := range consentCases(func(a consentScenario) map[string]func(r *Harness) { return a.harmlessEvents }) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := consentScenarios[c.kind]
				r := a.startServing(t)
				a.holdCauses[c.holdCause](r)
				r.Settle(time.Minute)
				before := a.serving(r)
				if len(before) == 0 {
					t.Fatal("the held configuration is not served")
				}
				a.harmlessEvents[c.event](r)
				r.Settle(time.Second)
				for range 3 {
					if got := a.serving(r); !slices.Equal(got, before) {
						t.Errorf("served before: %s, served now: %s", before, got)
					}
					r.Settle(20 * time.Minute)
				}
			})
		})
	}
}

var httpScenario = consentScenario{
	docs: func(*testing.T) []string {
		return []string{consentObjects, bankPods(), "---" + edgeWithSpec("listeners: ["+openListener+"]") + teamRoute("", "")}
	},
	serving: targetGroupsForHost(80, "team.example.com"), holdCauses: holdCauses, withdrawals: withdrawals,
}

func bankPods() string {
	return strings.ReplaceAll(readyPods("web", podAddresses[:3]...), "namespace: shop", "namespace: bank")
}

// TestHeldWildcardRuleIsBehindMoreSpecificListener checks that a held wildcard rule is evaluated after the rules of
// another listener for a hostname that the wildcard covers.
func TestHeldWildcardRuleIsBehindMoreSpecificListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := httpScenario.startServing(t)
		wild := func(more string) string {
			return strings.Replace(teamRoute("", more), "team.example.com", `"*.example.com"`, 1)
		}
		r.Apply(wild(""))
		r.Settle(10 * time.Minute)
		before := answerTo(r, 80, "web.example.com", "/")
		if !strings.HasPrefix(before, "k8s-") {
			t.Fatalf("the wildcard is not served: %s", before)
		}
		r.Apply(wild(manyRules()))
		r.Settle(time.Minute)
		own := shop + "---" + edgeWithSpec(`listeners: [`+openListener+`, {name: web, port: 80, protocol: HTTP, hostname: web.example.com}]`)
		r.Apply(own)
		r.Settle(time.Minute)
		if got := answerTo(r, 80, "web.example.com", "/"); got != "404" {
			t.Errorf("without a route of the listener requests get %s", got)
		}
		r.Apply(routeOf("web", "web.example.com", "backendRefs: [{name: web, port: 80}]"))
		r.Settle(10 * time.Minute)
		if got := answerTo(r, 80, "web.example.com", "/"); got == before || !strings.HasPrefix(got, "k8s-") {
			t.Errorf("requests for the hostname of the listener get %s", got)
		}
		if got := answerTo(r, 80, "other.example.com", "/"); got != before {
			t.Errorf("requests for the held rule get %s, want %s", got, before)
		}
	})
}
