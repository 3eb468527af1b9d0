package adversary

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// competingGateways returns an Ingress of the attacker and one or two Gateways of the attacker that request the load
// balancer of its IngressGroup: "edge", which a Gateway of the victims also requests, "shared", which no other Gateway
// requests, or "own", which belongs to the attacker. The Ingress consents to one Gateway.
func (g *adoptionGrammar) competingGateways() string {
	group := g.pickText("edge", "edge", "shared", "own")
	doc := attackerIngressDoc(g.pickText("i0", "i1"), g.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), "alb",
		annotationPrefix+"group.name: "+group+", fulcrum.dev/adopted-by: \""+g.pickText("evil/g0", "evil/g0", "evil/g1", "pay/edge")+"\"", "", "evil.com", "/", "e0")
	for _, name := range []string{"g0", "g1"} {
		if name == "g0" || g.chance(60) {
			doc += "---\n" + attackerGatewayDoc(name, "fulcrum.dev/adopt: ingress-group/"+group+g.dryRun(), "", "alb", ", parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: c0}")
		}
	}
	return doc + fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: alike, namespace: evil}
spec: {parentRefs: [{name: g0}, {name: g1}], hostnames: [%s], rules: [{backendRefs: [{name: e0, port: 80}]}]}
`, g.pickText("evil.com", "evil.com", "evil.com, front.example.com, post.example.com", "evil.com, shop.example.com, blog.example.com"))
}

// memberWithVictimTargetGroup returns an Ingress or a Service that names target groups of the victims.
func (g *adoptionGrammar) memberWithVictimTargetGroup() string {
	n := g.IntN(5)
	named := g.pickText(fmt.Sprintf(`"targetGroupARN":$TGARN%d`, n), fmt.Sprintf(`"targetGroupARN":$TGARN%d`, n), fmt.Sprintf(`"targetGroupName":"$TGNAME%d"`, n))
	if g.chance(20) {
		return sharedService(attackerNamespace, "l0", attackerAddresses[3], "1999-01-01T00:00:00Z",
			", service.beta.kubernetes.io/actions.TCP-80: '"+`{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{`+named+`,"weight":1}]}}'`, "{port: 80, targetPort: 8080}")
	}
	action := g.pickText(`{"type":"forward","forwardConfig":{"targetGroups":[{`+named+`,"weight":1}]}}`, `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"e0","servicePort":80,"weight":1},{`+named+`,"weight":99}]}}`)
	group := g.pickText("edge", "edge", "shared", "own", "own")
	doc := attackerIngressDoc(g.pickText("i0", "i1", "i2"), g.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), "alb",
		annotationPrefix+"group.name: "+group+g.consent()+", "+annotationPrefix+"actions.act: '"+action+"'", "", "evil.com", "/", "act")
	return strings.Replace(doc, "number: 80", "name: use-annotation", 1)
}

// accelerator returns a GlobalAccelerator of the attacker with endpoints for load balancers that are being adopted.
func (g *adoptionGrammar) accelerator() string {
	var endpoints []string
	for range 1 + g.IntN(3) {
		endpoints = append(endpoints, g.pickText("{type: EndpointID, endpointID: $LBARN0}", "{type: EndpointID, endpointID: $LBARN1}", "{type: EndpointID, endpointID: $LBARN2}",
			"{type: Ingress, namespace: pay, name: front}", "{type: Ingress, namespace: pay, name: solo}", "{type: Gateway, namespace: pay, name: edge}", "{type: Gateway, namespace: pay, name: solo}",
			"{type: Service, namespace: pay, name: mail}", "{type: Gateway, name: "+g.pickText(attackerObjectNames[cluster.KindGateway]...)+"}", "{type: Ingress, name: "+g.pickText(attackerObjectNames[cluster.KindIngress]...)+"}", "{type: Service, name: l0}"))
	}
	return fmt.Sprintf("apiVersion: aga.k8s.aws/v1beta1\nkind: GlobalAccelerator\nmetadata: {name: %s, namespace: evil}\nspec: {%slisteners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [%s]}]}]}\n",
		g.pickText(attackerObjectNames[cluster.KindGlobalAccelerator]...), g.pickText("", "", `tags: {aga.k8s.aws/stack: pay/front}, `), strings.Join(endpoints, ", "))
}

// contestedAdoption has moves and checks for histories in which several Gateways request one load balancer.
type contestedAdoption struct{ *adoptionTestCluster }

// memberChanges has changes of an Ingress of the attacker, by description. The Ingress may be a member that has consented to
// an adoption.
var memberChanges = map[string]func(ing *networkingv1.Ingress){
	"cannot be built":        func(ing *networkingv1.Ingress) { ing.Annotations[annotationPrefix+"listen-ports"] = "[" },
	"has other settings":     func(ing *networkingv1.Ingress) { ing.Annotations[annotationPrefix+"scheme"] = "internet-facing" },
	"does not consent":       func(ing *networkingv1.Ingress) { delete(ing.Annotations, naming.AdoptedByAnnotation) },
	"consents to another":    func(ing *networkingv1.Ingress) { ing.Annotations[naming.AdoptedByAnnotation] = "evil/g0" },
	"leaves for own":         func(ing *networkingv1.Ingress) { ing.Annotations[annotationPrefix+"group.name"] = "own" },
	"leaves for shared":      func(ing *networkingv1.Ingress) { ing.Annotations[annotationPrefix+"group.name"] = "shared" },
	"leaves for edge":        func(ing *networkingv1.Ingress) { ing.Annotations[annotationPrefix+"group.name"] = "edge" },
	"leaves all":             func(ing *networkingv1.Ingress) { delete(ing.Annotations, annotationPrefix+"group.name") },
	"has another class":      func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = new("other") },
	"stays with a finalizer": func(ing *networkingv1.Ingress) { ing.Finalizers = append(ing.Finalizers, foreignFinalizer) },
	"drops all finalizers":   func(ing *networkingv1.Ingress) { ing.Finalizers = nil },
}

// changeIngress changes an Ingress of the attacker if it exists. Afterwards the tests assume that the Ingress does not
// consent.
func (w contestedAdoption) changeIngress(ref cluster.Ref, how string) {
	ing, ok := mustValue(w.Store.Get(ref)).(*networkingv1.Ingress)
	if !ok {
		return
	}
	ing = ing.DeepCopy()
	delete(ing.Annotations, "consents")
	memberChanges[how](ing)
	if _, err := w.Store.Update(ing, cluster.MainPart); err != nil {
		w.rec.Fatal(err)
	}
	if how == "stays with a finalizer" {
		if err := w.Store.Delete(ref); err != nil {
			w.rec.Fatal(err)
		}
	}
}

// checkAccelerators checks that the victims' accelerator uses only their load balancer, and that no accelerator of the
// attacker uses a load balancer of the victims. The load balancer of an IngressGroup that everybody may join is a valid
// endpoint for each member.
func (w contestedAdoption) checkAccelerators() {
	s := w.Emulator.Store()
	s.Lock()
	defer s.Unlock()
	for _, a := range s.AcceleratorState(harness.Account).Accelerators {
		of := a.Tags["aga.k8s.aws/stack"]
		for _, l := range a.Listeners {
			for _, group := range l.Groups {
				for _, e := range group.Endpoints {
					switch lb := w.namesByARN[e.ID]; {
					case of == "pay/front" && lb != "edge":
						w.rec.recordFirst("the victims' accelerator has endpoint %s", e.ID)
					case of == "pay/front", lb == "", w.tenancy != closedGroups && (lb == "edge" || lb == "shared"):
					default:
						w.rec.recordFirst("accelerator %s of %s has an endpoint for load balancer %s", a.Name, of, lb)
					}
				}
				if of == "pay/front" && len(group.Endpoints) != 1 {
					w.rec.recordFirst("the victims' accelerator has %d endpoints", len(group.Endpoints))
				}
			}
		}
	}
}

// victimAccelerator is a GlobalAccelerator whose endpoint is the load balancer of IngressGroup "edge". The load balancer
// belongs to an Ingress, or to the Gateway that adopted it.
const victimAccelerator = `
apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata: {name: front, namespace: pay, uid: uid-pay-accelerator}
spec: {listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Ingress, name: front}, {type: Gateway, name: edge}]}]}]}
---
`

// stacksOfVictimLoadBalancers has the names of the victims' load balancers by the stack for which they were created.
var stacksOfVictimLoadBalancers = map[model.StackID]string{
	{Kind: model.Ingress, Name: "edge"}:                   "edge",
	{Kind: model.Ingress, Namespace: "pay", Name: "solo"}: "solo",
	{Kind: model.Service, Namespace: "pay", Name: "mail"}: "mail",
}

// checkPlan checks that the plan of a stack has no steps, except for finalizers, if a Gateway has adopted its load balancer.
func (w contestedAdoption) checkPlan(d engine.Draft) {
	o := w.expectedByName[stacksOfVictimLoadBalancers[d.TranslatedStack.ID]]
	if o == nil || slices.Contains(o.states, notAdoptedState) || w.released {
		return
	}
	for _, s := range d.Plan.Steps {
		if s.Address.Kind != plan.Finalizer {
			w.rec.recordFirst("%s plans to %s %s while a Gateway has its load balancer", d.TranslatedStack.ID.Title(), s.Verb, s.Address)
			return
		}
	}
}
