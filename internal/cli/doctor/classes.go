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

// mostNotServed are shown one by one.
const mostNotServed = 10

// classes looks for the classes of this controller, for Ingresses and Gateways of classes that do not exist, and for
// objects that a mistyped name keeps from this controller.
func (d *doctor) classes() {
	const area = "classes"
	var ingress, gateway, without, absent []string
	ingressClasses := map[string]bool{}
	for _, o := range d.store.All(cluster.KindIngressClass) {
		ingressClasses[o.GetName()] = true
		if o.(*networkingv1.IngressClass).Spec.Controller == cluster.IngressController {
			ingress = append(ingress, o.GetName())
		}
	}
	for _, o := range d.store.All(cluster.KindIngress) {
		_, annotated := o.GetAnnotations()[cluster.ClassAnnotation]
		if name := o.(*networkingv1.Ingress).Spec.IngressClassName; name != nil && !annotated && !ingressClasses[*name] {
			absent = append(absent, fmt.Sprintf("%s (%s)", cluster.RefOf(o), *name))
		}
	}
	known := map[string]bool{}
	for _, o := range d.store.All(cluster.KindGatewayClass) {
		known[o.GetName()] = true
		if slices.Contains(gatewayconfig.Controllers, o.(*gwv1.GatewayClass).Spec.ControllerName) {
			gateway = append(gateway, o.GetName())
		}
	}
	mistyped := input.MistypedNames(d.store, d.Config)
	shown := map[string]bool{}
	for _, f := range mistyped {
		shown[f.Object.String()] = true
	}
	for _, o := range d.store.All(cluster.KindGateway) {
		if class := string(o.(*gwv1.Gateway).Spec.GatewayClassName); !known[class] && !shown[cluster.RefOf(o).String()] {
			without = append(without, fmt.Sprintf("%s (%s)", cluster.RefOf(o), class))
		}
	}
	slices.Sort(ingress)
	slices.Sort(gateway)
	slices.Sort(without)
	slices.Sort(absent)
	if len(ingress) == 0 {
		d.addResult(area, warned, "create one", "no IngressClass has spec.controller %s, so Ingresses cannot name a class of this controller", cluster.IngressController)
	} else {
		d.addResult(area, healthy, "", "IngressClasses of this controller: %s", output.JoinFirst(ingress))
	}
	if len(gateway) > 0 {
		d.addResult(area, healthy, "", "GatewayClasses of this controller: %s", output.JoinFirst(gateway))
	}
	if len(absent) > 0 {
		d.addResult(area, warned, "create the class, or correct spec.ingressClassName", "these Ingresses name classes that do not exist; what is live of them stays, and nothing new is made: %s", output.JoinFirst(absent))
	}
	if len(without) > 0 {
		d.addResult(area, warned, "create the class, or correct spec.gatewayClassName", "these Gateways are of classes that do not exist, so no controller serves them: %s", output.JoinFirst(without))
	}
	d.notServed(mistyped)
}

// notServed lists objects that a mistyped name keeps from this controller, in the words of their events.
func (d *doctor) notServed(mistyped []finding.Finding) {
	const area = "classes"
	output.ShowFirst(mistyped, mostNotServed, func(f finding.Finding) {
		d.addResult(area, warned, f.Fix, "%s %s: %s", f.Object, f.Field, f.Message)
	}, func(n int) {
		d.addResult(area, warned, "see their events, or \"fulcrum explain\" about one of them", "%d more objects have such a name", n)
	})
}
