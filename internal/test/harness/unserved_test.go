package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

// TestIgnoredObjectsAreReported checks that an event reports an object that this controller ignores but that was
// probably meant for it, and a configuration without effect. Objects that another controller may serve are not
// reported.
func TestIgnoredObjectsAreReported(t *testing.T) {
	t.Parallel()
	ingress := strings.Replace(webIngress("", "/=web"), "  ingressClassName: alb\n", "  ingressClassName: CLASS\n", 1)
	class := func(controller string) string {
		return "\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: mine}\nspec: {controller: " + controller + "}\n---"
	}
	service := func(annotations, class string) string {
		return "\napiVersion: v1\nkind: Service\nmetadata: {name: nlb, namespace: shop, annotations: {" + annotations + "}}\nspec: {type: LoadBalancer, " + class + " ports: [{port: 80, nodePort: 30082}]}\n"
	}
	gateway := func(controller string) string {
		return "\napiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: gw}\nspec: {controllerName: " + controller + "}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: shop}\nspec: {gatewayClassName: gw, listeners: [{name: http, port: 80, protocol: HTTP}]}\n"
	}
	targets := func(service string) string {
		return "\napiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {name: tg, namespace: shop}\nspec: {targetReference: {name: " + service + "}, defaultConfiguration: {targetType: ip}}\n"
	}
	const prefix = "service.beta.kubernetes.io/"
	named := strings.Replace(ingress, "CLASS", "mine", 1)
	classless := strings.Replace(ingress, "  ingressClassName: CLASS\n", "", 1)
	for name, c := range map[string]struct {
		docs  string
		class string   // value of --ingress-class
		want  []string // beginnings of the results of unservedEvents
	}{
		"a mistyped IngressClass": {class("ingress.k8s.aws/abl") + named, "", []string{
			`Ingress web: NotServed: spec.ingressClassName: IngressClass mine: controller "ingress.k8s.aws/abl" is unknown to this controller (did you mean "ingress.k8s.aws/alb"?); nothing is created`,
			`IngressClass mine: NotServed: spec.controller: "ingress.k8s.aws/abl" is unknown to this controller (did you mean "ingress.k8s.aws/alb"?); Ingresses of this class are not served`}},
		"a mistyped name of a GatewayClass": {strings.NewReplacer("metadata: {name: gw}", "metadata: {name: front}", "gatewayClassName: gw", "gatewayClassName: fornt").Replace(gateway("gateway.k8s.aws/alb")), "", []string{
			`Gateway edge: NotServed: spec.gatewayClassName: GatewayClass "fornt" does not exist (did you mean "front"?); nothing is created`}},
		"an IngressClass of others": {class("k8s.io/ingress-nginx") + named, "", nil},
		"an Ingress that others serve": {class("ingress.k8s.aws/alb2") + named + "status: {loadBalancer: {ingress: [{hostname: other.example.com}]}}\n", "", []string{
			`IngressClass mine: NotServed: spec.controller`}},
		"no class":                              {classless, "alb", []string{`Ingress web: NotServed: spec.ingressClassName: no class is named, and no class is the default`}},
		"no class, but a default one of others": {strings.Replace(class("k8s.io/ingress-nginx"), "{name: mine}", "{name: mine, annotations: {ingressclass.kubernetes.io/is-default-class: 'true'}}", 1) + classless, "alb", nil},
		"no class, and nothing that is ours":    {strings.Replace(classless, "alb.ingress.kubernetes.io/target-type", "nginx.org/x", 1), "alb", nil},
		"a mistyped loadBalancerClass":          {service("", "loadBalancerClass: service.k8s.aws/nbl,"), "", []string{`Service nlb: NotServed: spec.loadBalancerClass: "service.k8s.aws/nbl" is unknown to this controller (did you mean "service.k8s.aws/nlb"?)`}},
		"a loadBalancerClass of others":         {service("", "loadBalancerClass: eks.amazonaws.com/nlb,"), "", nil},
		"a mistyped type":                       {service(prefix+"aws-load-balancer-type: externl", ""), "", []string{`Service nlb: NotServed: service.beta.kubernetes.io/aws-load-balancer-type: "externl" is unknown to this controller (did you mean "external"?)`}},
		"a type of the cloud provider":          {service(prefix+"aws-load-balancer-type: nlb", ""), "", nil},
		"a mistyped type of targets":            {service(prefix+"aws-load-balancer-type: external, "+prefix+"aws-load-balancer-nlb-target-type: instanc", ""), "", []string{`Service nlb: NotServed: service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: "instanc" is neither ip nor instance (did you mean "instance"?)`}},
		"a mistyped GatewayClass": {gateway("gateway.k8s.aws/abl"), "", []string{
			`Gateway edge: NotServed: spec.gatewayClassName: GatewayClass gw: controllerName "gateway.k8s.aws/abl" is unknown to this controller (did you mean "gateway.k8s.aws/alb"?)`,
			`GatewayClass gw: NotServed: spec.controllerName: "gateway.k8s.aws/abl" is unknown to this controller (did you mean "gateway.k8s.aws/alb"?)`}},
		"a GatewayClass of others":          {gateway("example.com/gateway"), "", nil},
		"a configuration of a lost Service": {targets("wep"), "", []string{`TargetGroupConfiguration tg: ParametersInvalid: spec.targetReference.name: Service "shop/wep" does not exist (did you mean "web"?)`}},
		"a configuration of a Service":      {targets("web"), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Workers: 3, Classes: func(of *config.Config) { of.Ingress.Class = c.class }})
				r.Apply(shop)
				r.Apply(c.docs)
				r.advanceTime(30 * time.Second)
				if got := unservedEvents(r); len(got) > 0 {
					t.Errorf("too soon: %q", got)
				}
				r.advanceTime(2 * time.Minute)
				r.Apply(c.docs)
				r.advanceTime(10 * time.Minute)
				if got := unservedEvents(r); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
					t.Errorf("got  %q\nwant %q", got, c.want)
				}
			})
		})
	}
}

// unservedEvents returns "kind name: message" for each warning with reason NotServed or ParametersInvalid, sorted.
func unservedEvents(r *Harness) (out []string) {
	for _, o := range r.Store.All("Event") {
		if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning && (e.Reason == "NotServed" || e.Reason == "ParametersInvalid") {
			out = append(out, fmt.Sprintf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
		}
	}
	slices.Sort(out)
	return out
}
