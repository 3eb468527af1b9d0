package doctor

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// maxMistypedNamesShown is the maximum number of findings about mistyped names that doctor prints.
const maxMistypedNamesShown = 10

// checkClasses reports the classes of this controller, the Ingresses and Gateways whose class does not exist, and the
// objects that this controller does not serve because of a mistyped name.
func (d *doctor) checkClasses() {
	const area = "classes"
	if kinds := input.UnavailableKinds(&d.Source, cluster.KindIngressClass, cluster.KindGatewayClass); len(kinds) > 0 {
		d.addResult(area, resultWarning, "bind the rules of config/rbac with the verbs get and list to the user or role that runs this command", "classes were not checked, as you have no permission to list these kinds: %s", input.JoinKinds(kinds))
		return
	}
	var ownIngressClasses, ownGatewayClasses, gatewaysWithoutClass, ingressesWithoutClass []string
	ingressClasses := map[string]bool{}
	for _, o := range d.store.All(cluster.KindIngressClass) {
		ingressClasses[o.GetName()] = true
		if o.(*networkingv1.IngressClass).Spec.Controller == cluster.IngressControllerName {
			ownIngressClasses = append(ownIngressClasses, o.GetName())
		}
	}
	for _, o := range d.store.All(cluster.KindIngress) {
		_, annotated := o.GetAnnotations()[cluster.ClassAnnotation]
		if name := o.(*networkingv1.Ingress).Spec.IngressClassName; name != nil && !annotated && !ingressClasses[*name] {
			ingressesWithoutClass = append(ingressesWithoutClass, fmt.Sprintf("%s (%s)", cluster.RefOf(o), *name))
		}
	}
	gatewayClasses := map[string]bool{}
	for _, o := range d.store.All(cluster.KindGatewayClass) {
		gatewayClasses[o.GetName()] = true
		if slices.Contains(gatewayconfig.Controllers, o.(*gwv1.GatewayClass).Spec.ControllerName) {
			ownGatewayClasses = append(ownGatewayClasses, o.GetName())
		}
	}
	mistyped := input.MistypedNameFindings(&d.Source, d.store)
	reported := map[string]bool{}
	for _, f := range mistyped {
		reported[f.Object.String()] = true
	}
	for _, o := range d.store.All(cluster.KindGateway) {
		if class := string(o.(*gwv1.Gateway).Spec.GatewayClassName); !gatewayClasses[class] && !reported[cluster.RefOf(o).String()] {
			gatewaysWithoutClass = append(gatewaysWithoutClass, fmt.Sprintf("%s (%s)", cluster.RefOf(o), class))
		}
	}
	slices.Sort(ownIngressClasses)
	slices.Sort(ownGatewayClasses)
	slices.Sort(gatewaysWithoutClass)
	slices.Sort(ingressesWithoutClass)
	if len(ownIngressClasses) == 0 {
		d.addResult(area, resultWarning, "create an IngressClass with this spec.controller", "no IngressClass has spec.controller %s, so Ingresses cannot name a class of this controller", cluster.IngressControllerName)
	} else {
		d.addResult(area, resultOK, "", "IngressClasses of this controller: %s", output.JoinFirst(ownIngressClasses))
	}
	if len(ownGatewayClasses) > 0 {
		d.addResult(area, resultOK, "", "GatewayClasses of this controller: %s", output.JoinFirst(ownGatewayClasses))
	}
	if len(ingressesWithoutClass) > 0 {
		d.addResult(area, resultWarning, "create the class, or correct spec.ingressClassName", "these Ingresses name classes that do not exist; their resources in AWS stay, and no new ones are created: %s", output.JoinFirst(ingressesWithoutClass))
	}
	if len(gatewaysWithoutClass) > 0 {
		d.addResult(area, resultWarning, "create the class, or correct spec.gatewayClassName", "these Gateways name classes that do not exist, so no controller serves them: %s", output.JoinFirst(gatewaysWithoutClass))
	}
	d.reportMistypedNames(mistyped)
}

// reportMistypedNames adds a result for each finding about an object that this controller does not serve because of a
// mistyped name. After maxMistypedNamesShown results, it adds only one result with the number of further findings.
func (d *doctor) reportMistypedNames(mistyped []finding.Finding) {
	const area = "classes"
	output.ShowFirst(mistyped, maxMistypedNamesShown, func(f finding.Finding) {
		d.addResult(area, resultWarning, f.Fix, "%s %s: %s", f.Object, f.Field, f.Message)
	}, func(n int) {
		d.addResult(area, resultWarning, "see their events, or \"fulcrum explain\" about one of them", "%d more objects have findings of this kind", n)
	})
}
