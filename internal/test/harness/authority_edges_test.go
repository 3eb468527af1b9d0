package harness

import (
	"maps"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// Consent scenarios in which no tag of a target group shows which namespace owns a rule.

func init() {
	maps.Copy(consentScenarios, map[string]consentScenario{
		"Gateway as backend": ambiguousChainScenario,
		"external HTTPRoute": externalRouteScenario,
		"redirect HTTPRoute": redirectRouteScenario,
		"external Ingress":   ingressActionScenario(`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"external"}]}}`),
		"redirect Ingress":   ingressActionScenario(`{"type":"redirect","redirectConfig":{"host":"evil.example.com","statusCode":"HTTP_302"}}`),
		"answer Ingress":     ingressActionScenario(`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"x"}}`),
		"unreadable Ingress": unreadableActionScenario,
		"isolated host":      isolatedTenancyScenario,
	})
}

// rulesForHost returns a function that lists the ARNs of the rules of a port that match a host. It omits default rules
// and fixed responses with another status than 200.
func rulesForHost(port int32, host string) func(r *Harness) []string {
	return func(r *Harness) (out []string) {
		w := r.Emulator.Store()
		w.Lock()
		defer w.Unlock()
		st := w.Partition(Account, Region).ELB
		for _, rule := range st.Rules {
			if st.Listeners[rule.Listener].Port != port || rule.IsDefault() || !matchesRequest(rule.Conditions, host, "/") {
				continue
			}
			last := rule.Actions[len(rule.Actions)-1]
			switch {
			case last.FixedResponseConfig != nil && *last.FixedResponseConfig.StatusCode == "200", last.RedirectConfig != nil, last.ForwardConfig != nil:
				out = append(out, rule.ARN)
			}
		}
		slices.Sort(out)
		return out
	}
}

// ambiguousChainScenario is an NLB in front of the ALB of a Gateway in namespace "my-shop". The ID of its target group
// could also name a Gateway of namespace "my", which permits everything.
var ambiguousChainScenario = consentScenario{
	docs: func(*testing.T) []string {
		in := func(docs string) string { return strings.ReplaceAll(docs, "namespace: shop", "namespace: my-shop") }
		return []string{
			in(edgeGateway + edgeLoadBalancerConfiguration("internal") + edgeWithConfiguration + readyPods("web", "10.0.132.1") + "---" + routeOf("web", "a.example.com", "backendRefs: [{name: web, port: 80}]") + chainGrant),
			in(frontendNLBGateways("")),
			strings.ReplaceAll(chainGrant, "namespace: shop", "namespace: my"),
		}
	},
	serving: targetGroupsForHost(8000, ""),
	holdCauses: map[string]func(r *Harness){
		"not held":              func(*Harness) {},
		"class missing":         func(r *Harness) { r.forceDelete(cluster.KindGatewayClass, "", "nlb") },
		"configuration missing": func(r *Harness) { r.forceDelete(cluster.KindLoadBalancerConfiguration, "net", "front") },
		"too many backends": func(r *Harness) {
			r.Apply(strings.ReplaceAll(frontendNLBGateways(strings.Repeat("{kind: TargetGroupName, group: gateway.k8s.aws, name: x}, ", 5)), "namespace: shop", "namespace: my-shop"))
		},
	},
	withdrawals: map[string]func(r *Harness){
		"ReferenceGrant": func(r *Harness) { r.deleteObject(cluster.KindReferenceGrant, "my-shop", "net") },
		"ReferenceGrant for another name": func(r *Harness) {
			r.Apply(strings.NewReplacer("namespace: shop", "namespace: my-shop", "kind: Gateway}", "kind: Gateway, name: other}").Replace(chainGrant))
		},
	},
	harmlessEvents: map[string]func(r *Harness){
		"the grant of the other meaning": func(r *Harness) { r.deleteObject(cluster.KindReferenceGrant, "my", "net") },
	},
}

func frontendNLBGateways(backends string) string {
	return strings.NewReplacer("spec: {gatewayClassName: nlb,", "spec: {gatewayClassName: nlb, infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: front}},",
		"backendRefs: [", "backendRefs: ["+backends).Replace(chainedGateways) +
		"\n---\napiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: front, namespace: net}\nspec: {scheme: internal}\n---\n"
}

// teamRouteScenario is the HTTPRoute of namespace "team" after edit, which replaces its backend by another backend or
// a filter.
func teamRouteScenario(edit func(string) string) consentScenario {
	// If a route has too many rules, only the rules that forward to its target groups are held.
	ways := entriesOf(holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "replaced")
	ways["conditions that AWS does not take"] = func(r *Harness) {
		r.Apply(edit(teamRoute("matches: [{path: {type: PathPrefix, value: /}, headers: [{name: x, value: "+strings.Repeat("x", 200)+"}]}]", "")))
	}
	edges := maps.Clone(withdrawals)
	delete(edges, "ReferenceGrant")
	delete(edges, "ReferenceGrant for another name")
	return consentScenario{
		docs: func(*testing.T) []string {
			return []string{consentObjects, bankPods(), "---" + edgeWithSpec("listeners: ["+openListener+"]") + edit(teamRoute("", ""))}
		},
		serving: rulesForHost(80, "team.example.com"), holdCauses: ways, withdrawals: edges,
	}
}

var externalRouteScenario = teamRouteScenario(func(route string) string {
	return strings.ReplaceAll(route, "backendRefs: [{name: web, namespace: bank, port: 80}]", "backendRefs: [{group: gateway.k8s.aws, kind: TargetGroupName, name: external}]")
})

var redirectRouteScenario = teamRouteScenario(func(route string) string {
	return strings.ReplaceAll(route, "backendRefs: [{name: web, namespace: bank, port: 80}]", "filters: [{type: RequestRedirect, requestRedirect: {hostname: evil.example.com}}]")
})

// ingressActionScenario is an Ingress rule with an action that does not forward to a target group of the stack.
func ingressActionScenario(action string) consentScenario {
	notes := func(more ...string) []string { return append([]string{"actions.act", action}, more...) }
	team := func(more ...string) string {
		return strings.Replace(ingressInNamespace("team", "web", "pinned", "team.example.com", "", notes(more...)...), "service: {name: web, port: {number: 80}}", "service: {name: act, port: {name: use-annotation}}", 1)
	}
	others := func(more ...string) string {
		return ingressInNamespace("shop", "a", "pinned", "a.example.com", "", more...)
	}
	return consentScenario{
		options: func(o *Options) { o.Ingress = func(o *ingress.Options) { o.MaxRules = 10 } },
		docs: func(*testing.T) []string {
			return []string{shop, readyPods("web", podAddresses[:3]...), teamShop, admittedTeamNamespace, team(), others()}
		},
		serving: rulesForHost(80, "team.example.com"),
		holdCauses: map[string]func(r *Harness){
			"not held":            func(*Harness) {},
			"unreadable ports":    func(r *Harness) { r.Apply(team("listen-ports", "nonsense")) },
			"unreadable order":    func(r *Harness) { r.Apply(team("group.order", "nonsense")) },
			"all others are held": func(r *Harness) { r.Apply(others("listen-ports", "nonsense")) },
			"all are held":        func(r *Harness) { r.Apply(others("listen-ports", "nonsense"), team("listen-ports", "nonsense")) },
			"others have a wrong order": func(r *Harness) {
				r.Apply(others("group.order", "nonsense"))
			},
			"others have wrong settings": func(r *Harness) { r.Apply(others("scheme", "nonsense")) },
			"alone":                      func(r *Harness) { r.deleteObject(cluster.KindIngress, "shop", "a") },
			"refused by AWS": func(r *Harness) {
				refuseOperations("CreateRule", "ModifyRule", "DeleteTargetGroup")(r)
				r.Apply(others("conditions.web", `[{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET"]}}]`))
			},
		},
		withdrawals: ingressScenario.withdrawals, harmlessEvents: ingressScenario.harmlessEvents,
	}
}

// unreadableActionScenario is ingressActionScenario with an action that cannot be parsed. If the class is unknown,
// only a rule whose action can be parsed can be assigned to its Ingress and held.
var unreadableActionScenario = func() consentScenario {
	const redirect = `{"type":"redirect","redirectConfig":{"host":"evil.example.com","statusCode":"HTTP_302"}}`
	a := ingressActionScenario(redirect)
	a.harmlessEvents, a.holdCauses = nil, map[string]func(r *Harness){
		"unreadable action": func(r *Harness) {
			r.Apply(strings.Replace(a.docs(nil)[4], redirect, "{", 1))
		},
	}
	return a
}()

// isolatedTenancyScenario is an IngressGroup in isolated tenancy, where each host belongs to one namespace. An Ingress
// loses its host if it no longer names it and an Ingress of another namespace does.
var isolatedTenancyScenario = func() consentScenario {
	a := ingressScenario
	a.options = func(o *Options) {
		o.Ingress = func(o *ingress.Options) { o.MaxRules, o.Tenancy = 10, ingress.Isolated }
	}
	a.serving = func(r *Harness) (out []string) {
		w := r.Emulator.Store()
		for _, arn := range targetGroupsForHost(80, "team.example.com")(r) {
			w.Lock()
			g := w.Partition(Account, Region).ELB.TargetGroups[arn]
			if g != nil && strings.HasPrefix(g.Tags["ingress.k8s.aws/resource"], "team/") {
				out = append(out, arn)
			}
			w.Unlock()
		}
		return out
	}
	a.harmlessEvents = nil
	a.withdrawals = map[string]func(r *Harness){
		"host": func(r *Harness) {
			obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "team", Name: "web"})
			if err != nil {
				r.T.Fatal(err)
			}
			ing := obj.(*networkingv1.Ingress).DeepCopy()
			ing.Spec.Rules[0].Host = "other.example.com"
			if _, err := r.Store.Update(ing, cluster.MainPart); err != nil {
				r.T.Fatal(err)
			}
			r.Apply(ingressInNamespace("shop", "b", "pinned", "team.example.com", ""))
		},
	}
	return a
}()
