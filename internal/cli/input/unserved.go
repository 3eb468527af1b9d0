package input

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
	unservedpkg "github.com/fulcrum-lb/fulcrum/internal/translate/unserved"
)

// unserved finds out why no load balancer of this controller serves an object.
type unserved struct {
	store *cluster.Memory
	cfg   config.Config
}

// WhyUnserved returns why no load balancer of this controller serves an object, "" if that is not known.
func WhyUnserved(store *cluster.Memory, c config.Config, ref cluster.Ref) string {
	return unserved{store, c}.reasonAndFix(ref)
}

// ReportUnserved reports why no load balancer serves the objects that the command line names.
func (d *Source) ReportUnserved(w io.Writer, store *cluster.Memory) {
	output.ShowFirst(d.Named, output.MostMembers, func(ref cluster.Ref) {
		if why := (unserved{store, d.Config}).reasonAndFix(ref); why != "" {
			fmt.Fprintf(w, "# %s: %s\n", ref, why)
		}
	}, func(n int) { fmt.Fprintf(w, "# … and %d more objects\n", n) })
}

// reasonAndFix returns what is wrong and what to do.
func (u unserved) reasonAndFix(ref cluster.Ref) string {
	obj, err := u.store.Get(ref)
	if err != nil || obj == nil {
		return ""
	}
	if f, ok := unservedpkg.Of(cluster.NewView(u.store), obj, u.options()); ok {
		return finding.Printable(finding.CutTo(LongestWarning, f.Located()))
	}
	text := ""
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		text = u.ingress(o)
	case *corev1.Service:
		text = u.service(o)
	case *gwv1.Gateway:
		text = u.gateway(o)
	case *gwv1.ListenerSet:
		text = "look at spec.parentRef, and at the Gateway that it names"
	default:
		text = "look at its status and events"
		if off := acceleratorsOff(u.cfg); ref.Kind == cluster.KindGlobalAccelerator && off != "" {
			text = off
		}
		if parents, _ := cluster.RouteParents(obj); slices.Contains(cluster.RouteKinds, ref.Kind) {
			text = u.route(ref.Namespace, parents)
		}
	}
	return finding.Printable(finding.CutTo(LongestWarning, text))
}

// MistypedNames returns the findings about objects that a mistyped name keeps from being served, one for each object, in
// order.
func MistypedNames(store *cluster.Memory, c config.Config) (out []finding.Finding) {
	u := unserved{store, c}
	v := cluster.NewView(store)
	for _, typ := range cluster.Types() {
		for _, obj := range store.All(typ.Kind) {
			if f, ok := unservedpkg.Of(v, obj, u.options()); ok {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b finding.Finding) int { return strings.Compare(a.Object.String(), b.Object.String()) })
	return out
}

// options returns the options of the controller.
func (u unserved) options() unservedpkg.Options {
	return unservedpkg.Options{
		IngressClass: u.cfg.Ingress.Class, Gateways: true,
		Services: &settings.ServiceSelection{Class: u.cfg.Service.Class, LoadBalancersOnly: u.cfg.Gates.On(config.ServiceTypeLoadBalancerOnly)},
	}
}

func (u unserved) ingress(ing *networkingv1.Ingress) string {
	if class, ok := ing.Annotations[cluster.ClassAnnotation]; ok {
		ours := u.cfg.Ingress.Class
		if ours == "" {
			ours = "alb"
		}
		return fmt.Sprintf("annotation %s is %q, and this controller serves %q; correct the annotation, or remove it and set spec.ingressClassName", cluster.ClassAnnotation, class, ours)
	}
	way := u.class(cluster.KindIngressClass, "spec.controller "+cluster.IngressController, func(o cluster.Object) bool {
		return o.(*networkingv1.IngressClass).Spec.Controller == cluster.IngressController
	})
	if name := ing.Spec.IngressClassName; name != nil {
		class, _ := u.store.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: *name})
		if c, ok := class.(*networkingv1.IngressClass); ok {
			return fmt.Sprintf("spec.ingressClassName: IngressClass %s has the controller %q, which is another one; %s", *name, c.Spec.Controller, way)
		}
		return fmt.Sprintf("spec.ingressClassName: IngressClass %s does not exist%s; %s", *name, u.probableName(cluster.KindIngressClass, "", *name), way)
	}
	return "spec.ingressClassName: no class is named, and no class of this controller is the default; " + way
}

func (u unserved) service(svc *corev1.Service) string {
	const again = "; Kubernetes admits that only of a Service that is made or gets this type, so delete it and create it again"
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return fmt.Sprintf("spec.type is %s, and no Ingress or route of this controller names the Service; set spec.type to LoadBalancer, or name the Service as a backend", svc.Spec.Type)
	}
	if class := svc.Spec.LoadBalancerClass; class != nil {
		return fmt.Sprintf("spec.loadBalancerClass is %q, and this controller serves %q; set it to that%s", *class, u.cfg.Service.Class, again)
	}
	return fmt.Sprintf("spec.loadBalancerClass is not set, and this controller serves %q; set it%s, or set the annotations %saws-load-balancer-type to external and %saws-load-balancer-nlb-target-type to ip or instance",
		u.cfg.Service.Class, again, settings.ServicePrefix, settings.ServicePrefix)
}

func (u unserved) gateway(gw *gwv1.Gateway) string {
	var names []string
	for _, c := range gatewayconfig.Controllers {
		names = append(names, string(c))
	}
	way := u.class(cluster.KindGatewayClass, "spec.controllerName "+strings.Join(names, ", "), func(o cluster.Object) bool {
		return slices.Contains(gatewayconfig.Controllers, o.(*gwv1.GatewayClass).Spec.ControllerName)
	})
	name := string(gw.Spec.GatewayClassName)
	class, _ := u.store.Get(cluster.Ref{Kind: cluster.KindGatewayClass, Name: name})
	c, ok := class.(*gwv1.GatewayClass)
	switch {
	case !ok:
		return fmt.Sprintf("spec.gatewayClassName: GatewayClass %s does not exist%s; %s", name, u.probableName(cluster.KindGatewayClass, "", name), way)
	case !slices.Contains(gatewayconfig.Controllers, c.Spec.ControllerName):
		return fmt.Sprintf("spec.gatewayClassName: GatewayClass %s has the controllerName %q, which is another one; %s", name, c.Spec.ControllerName, way)
	}
	return fmt.Sprintf("GatewayClass %s is one of this controller, so look at the feature gates ALBGatewayAPI and NLBGatewayAPI", name)
}

// class returns how to name a class of this controller, or to make one with what.
func (u unserved) class(kind cluster.Kind, what string, ours func(cluster.Object) bool) string {
	var names []string
	for _, o := range u.store.All(kind) {
		if ours(o) {
			names = append(names, o.GetName())
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return fmt.Sprintf("no %s is one of this controller, so create one with %s", kind, what)
	}
	return "name one of this controller: " + output.JoinFirst(names)
}

// probableName returns the name of an object of a kind that was probably meant by one that does not exist.
func (u unserved) probableName(kind cluster.Kind, namespace, name string) string {
	var names []string
	for _, o := range u.store.All(kind) {
		if o.GetNamespace() == namespace {
			names = append(names, o.GetName())
		}
	}
	return finding.DidYouMean(name, names)
}

// LongestWarning is as long as an event may be.
const LongestWarning = 1100

// mostParents of a route are looked at.
const mostParents = 5

func (u unserved) route(namespace string, parents []gwv1.ParentReference) string {
	if len(parents) == 0 {
		return "spec.parentRefs is empty; name a Gateway"
	}
	var all []string
	for i, p := range parents[:min(len(parents), mostParents)] {
		all = append(all, fmt.Sprintf("spec.parentRefs[%d]: %s", i, u.parent(ParentRef(namespace, p))))
	}
	return strings.Join(all, "; ")
}

// ParentRef returns the object that a parentRef of a route in a namespace names.
func ParentRef(namespace string, p gwv1.ParentReference) cluster.Ref {
	ref := cluster.Ref{Kind: cluster.KindGateway, Namespace: namespace, Name: string(p.Name)}
	if p.Namespace != nil && *p.Namespace != "" {
		ref.Namespace = string(*p.Namespace)
	}
	if p.Kind != nil && *p.Kind != "" {
		ref.Kind = cluster.Kind(*p.Kind)
	}
	return ref
}

func (u unserved) parent(ref cluster.Ref) string {
	if ref.Kind != cluster.KindGateway && ref.Kind != cluster.KindListenerSet {
		return fmt.Sprintf("kind %q is not served; name a Gateway or a ListenerSet", ref.Kind)
	}
	obj, _ := u.store.Get(ref)
	gw, isGateway := obj.(*gwv1.Gateway)
	switch {
	case obj == nil:
		return fmt.Sprintf("%s does not exist%s; correct its name and namespace, or create it", ref, u.probableName(ref.Kind, ref.Namespace, ref.Name))
	case isGateway:
		return ref.String() + ": " + u.gateway(gw)
	}
	return fmt.Sprintf("no load balancer of this controller serves %s; look at its spec.parentRef", ref)
}
