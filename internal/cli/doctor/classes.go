package doctor

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// classes looks for the classes of this controller, and for Gateways of classes that do not exist: no controller reports
// these.
func (d *doctor) classes() {
	const area = "classes"
	var ingress, gateway, without []string
	for _, o := range d.store.All(cluster.KindIngressClass) {
		if o.(*networkingv1.IngressClass).Spec.Controller == cluster.IngressController {
			ingress = append(ingress, o.GetName())
		}
	}
	known := map[string]bool{}
	for _, o := range d.store.All(cluster.KindGatewayClass) {
		known[o.GetName()] = true
		if slices.Contains(gatewayconfig.Controllers, o.(*gwv1.GatewayClass).Spec.ControllerName) {
			gateway = append(gateway, o.GetName())
		}
	}
	for _, o := range d.store.All(cluster.KindGateway) {
		if class := string(o.(*gwv1.Gateway).Spec.GatewayClassName); !known[class] {
			without = append(without, fmt.Sprintf("%s (%s)", cluster.RefOf(o), class))
		}
	}
	slices.Sort(ingress)
	slices.Sort(gateway)
	slices.Sort(without)
	if len(ingress) == 0 {
		d.say(area, warned, "create one", "no IngressClass has spec.controller %s, so Ingresses cannot name a class of this controller", cluster.IngressController)
	} else {
		d.say(area, healthy, "", "IngressClasses of this controller: %s", output.Few(ingress))
	}
	if len(gateway) > 0 {
		d.say(area, healthy, "", "GatewayClasses of this controller: %s", output.Few(gateway))
	}
	if len(without) > 0 {
		d.say(area, warned, "create the class, or correct spec.gatewayClassName", "these Gateways are of classes that do not exist, so no controller serves them: %s", output.Few(without))
	}
}
