package input

import (
	"cmp"
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

// unservedReasons finds the reasons why no load balancer of this controller serves an object.
type unservedReasons struct {
	store  *cluster.Memory
	source *Source // has the flags of the controller, and the kinds that were not read
}

// UnservedReason returns why no load balancer of this controller serves an object, or "" if the object does not exist.
func UnservedReason(d *Source, store *cluster.Memory, ref cluster.Ref) string {
	return unservedReasons{store, d}.reasonAndFix(ref)
}

// ReportUnservedNamedObjects prints why no load balancer serves the objects that the command line names.
func (d *Source) ReportUnservedNamedObjects(w io.Writer, store *cluster.Memory) {
	output.ShowFirst(d.Named, output.MaxShownMembers, func(ref cluster.Ref) {
		if why := (unservedReasons{store, d}).reasonAndFix(ref); why != "" {
			fmt.Fprintf(w, "# %s: %s\n", ref, why)
		}
	}, output.ShowMore(w, "# … and %d more objects"))
}

// reasonAndFix returns why an object is not served, and what a user can do. It returns "" if the object does not exist.
func (u unservedReasons) reasonAndFix(ref cluster.Ref) string {
	obj, err := u.store.Get(ref)
	if err != nil || obj == nil {
		return ""
	}
	if f, ok := u.mistypedNameFinding(obj); ok {
		return finding.EscapeNonPrintable(finding.Truncate(f.TextWithField(), MaxWarningLength))
	}
	text := ""
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		text = u.reasonOfIngress(o)
	case *corev1.Service:
		text = u.reasonOfService(o)
	case *gwv1.Gateway:
		text = u.reasonOfGateway(o)
	case *gwv1.ListenerSet:
		text = "check spec.parentRef, and the Gateway that it names"
	default:
		text = unknownReason
		if off := acceleratorsOffReason(u.source.Config); ref.Kind == cluster.KindGlobalAccelerator && off != "" {
			text = off
		}
		if parents, _ := cluster.RouteParents(obj); slices.Contains(cluster.RouteKinds, ref.Kind) {
			text = u.reasonOfRoute(ref.Namespace, parents)
		}
	}
	if obj.GetDeletionTimestamp() != nil {
		text = "it is being deleted"
	}
	return finding.EscapeNonPrintable(finding.Truncate(text, MaxWarningLength))
}

// unknownReason is the text about an object for which no reason was found.
const unknownReason = "see its status and events"

// MistypedNameFindings returns a finding for each object that is not served because a name in it is mistyped. The findings
// are sorted by object.
func MistypedNameFindings(d *Source, store *cluster.Memory) (out []finding.Finding) {
	u := unservedReasons{store, d}
	for _, typ := range cluster.Types() {
		for _, obj := range store.All(typ.Kind) {
			if f, ok := u.mistypedNameFinding(obj); ok {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b finding.Finding) int { return strings.Compare(a.Object.String(), b.Object.String()) })
	return out
}

// mistypedNameFinding returns the finding that a name in an object is mistyped, and false if there is none. It also returns
// false if the user may not list the objects that the object may name.
func (u unservedReasons) mistypedNameFinding(obj cluster.Object) (finding.Finding, bool) {
	named := map[cluster.Kind]cluster.Kind{
		cluster.KindIngress: cluster.KindIngressClass, cluster.KindGateway: cluster.KindGatewayClass, cluster.KindTargetGroupConfiguration: cluster.KindService,
	}[cluster.RefOf(obj).Kind]
	if slices.Contains(u.source.unreadableKinds, named) {
		return finding.Finding{}, false
	}
	return unservedpkg.FindingFor(cluster.NewView(u.store), obj, u.options())
}

// options returns the settings of the controller that decide which names are mistyped.
func (u unservedReasons) options() unservedpkg.Options {
	return unservedpkg.Options{
		IngressClass: u.source.Config.Ingress.Class, Gateways: true,
		Services: &settings.ServiceSelection{Class: u.source.Config.Service.Class, LoadBalancersOnly: u.source.Config.Gates.IsEnabled(config.ServiceTypeLoadBalancerOnly)},
	}
}

// reasonOfIngress returns why the class of an Ingress does not belong to this controller.
func (u unservedReasons) reasonOfIngress(ing *networkingv1.Ingress) string {
	if class, ok := ing.Annotations[cluster.ClassAnnotation]; ok {
		served := cmp.Or(u.source.Config.Ingress.Class, "alb")
		return fmt.Sprintf("annotation %s is %q, and this controller serves %q; correct the annotation, or remove it and set spec.ingressClassName", cluster.ClassAnnotation, class, served)
	}
	classes := cluster.Ref{Kind: cluster.KindIngressClass}
	if ing.Spec.IngressClassName == nil && notReadReason(classes, u.source) != "" {
		return "spec.ingressClassName: no class is named, and it is not known whether a class of this controller is the default, as " + notListedText(classes)
	}
	fix := u.classFix(cluster.KindIngressClass, "spec.controller "+cluster.IngressControllerName, func(o cluster.Object) bool {
		return o.(*networkingv1.IngressClass).Spec.Controller == cluster.IngressControllerName
	})
	if name := ing.Spec.IngressClassName; name != nil {
		class, _ := u.store.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: *name})
		switch c, ok := class.(*networkingv1.IngressClass); {
		case ok && c.Spec.Controller == cluster.IngressControllerName:
			return unknownReason
		case ok:
			return fmt.Sprintf("spec.ingressClassName: IngressClass %s has the controller %q, which is not this controller; %s", *name, c.Spec.Controller, fix)
		}
		return fmt.Sprintf("spec.ingressClassName: IngressClass %s does not exist%s; %s", *name, similarNameHint(u.store, cluster.KindIngressClass, "", *name), fix)
	}
	return "spec.ingressClassName: no class is named, and no class of this controller is the default; " + fix
}

// reasonOfService returns why a Service has no NLB of this controller.
func (u unservedReasons) reasonOfService(svc *corev1.Service) string {
	const recreate = "; Kubernetes permits that only when a Service is created or gets this type, so delete it and create it again"
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return fmt.Sprintf("spec.type is %s, and no Ingress or route of this controller that was read names the Service; set spec.type to LoadBalancer, or name the Service as a backend", svc.Spec.Type)
	}
	if !u.source.Config.Gates.IsEnabled(config.EnableServiceController) {
		return fmt.Sprintf("feature gate %s is off, so the controller serves no Service; set --feature-gates=%[1]s=true", config.EnableServiceController)
	}
	switch class := svc.Spec.LoadBalancerClass; {
	case class != nil && *class == u.source.Config.Service.Class:
		return unknownReason
	case class != nil:
		return fmt.Sprintf("spec.loadBalancerClass is %q, and this controller serves %q; set it to this value%s", *class, u.source.Config.Service.Class, recreate)
	}
	return fmt.Sprintf("spec.loadBalancerClass is not set, and this controller serves %q; set it%s, or set the annotations %saws-load-balancer-type to external and %saws-load-balancer-nlb-target-type to ip or instance",
		u.source.Config.Service.Class, recreate, settings.ServicePrefix, settings.ServicePrefix)
}

// reasonOfGateway returns why a Gateway is not served: its class does not belong to this controller, or a feature gate may
// be off.
func (u unservedReasons) reasonOfGateway(gw *gwv1.Gateway) string {
	var names []string
	for _, c := range gatewayconfig.Controllers {
		names = append(names, string(c))
	}
	fix := u.classFix(cluster.KindGatewayClass, "spec.controllerName "+strings.Join(names, ", "), func(o cluster.Object) bool {
		return slices.Contains(gatewayconfig.Controllers, o.(*gwv1.GatewayClass).Spec.ControllerName)
	})
	name := string(gw.Spec.GatewayClassName)
	class, _ := u.store.Get(cluster.Ref{Kind: cluster.KindGatewayClass, Name: name})
	c, ok := class.(*gwv1.GatewayClass)
	switch {
	case !ok:
		return fmt.Sprintf("spec.gatewayClassName: GatewayClass %s does not exist%s; %s", name, similarNameHint(u.store, cluster.KindGatewayClass, "", name), fix)
	case !slices.Contains(gatewayconfig.Controllers, c.Spec.ControllerName):
		return fmt.Sprintf("spec.gatewayClassName: GatewayClass %s has the controllerName %q, which is not this controller; %s", name, c.Spec.ControllerName, fix)
	}
	return fmt.Sprintf("GatewayClass %s belongs to this controller; check that the feature gates ALBGatewayAPI and NLBGatewayAPI are on", name)
}

// classFix returns advice about the class of an object: the names of the classes of this controller, or the field that a new
// class needs if there are none. isServed reports whether a class belongs to this controller.
func (u unservedReasons) classFix(kind cluster.Kind, field string, isServed func(cluster.Object) bool) string {
	var names []string
	for _, o := range u.store.All(kind) {
		if isServed(o) {
			names = append(names, o.GetName())
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return fmt.Sprintf("no %s belongs to this controller; create one with %s", kind, field)
	}
	return "name a class of this controller: " + output.JoinFirst(names)
}

// similarNameHint returns the end of a message about an object that does not exist: a question with the most similar name of
// an object of the kind, or "" if no name is similar.
func similarNameHint(store *cluster.Memory, kind cluster.Kind, namespace, name string) string {
	var names []string
	for _, o := range store.All(kind) {
		if o.GetNamespace() == namespace {
			names = append(names, o.GetName())
		}
	}
	return finding.SpellingHint(name, names)
}

// MaxWarningLength is the maximum length of a warning, in characters. The messages of Kubernetes events are shorter, so they
// are not truncated.
const MaxWarningLength = 1100

// maxParents is the maximum number of parentRefs of a route that are explained.
const maxParents = 5

// reasonOfRoute returns why each parentRef of a route is not served.
func (u unservedReasons) reasonOfRoute(namespace string, parents []gwv1.ParentReference) string {
	if len(parents) == 0 {
		return "spec.parentRefs is empty; name a Gateway"
	}
	var all []string
	for i, p := range parents[:min(len(parents), maxParents)] {
		all = append(all, fmt.Sprintf("spec.parentRefs[%d]: %s", i, u.reasonOfParent(cluster.ParentRef(namespace, p))))
	}
	return strings.Join(all, "; ")
}

// reasonOfParent returns why a Gateway or ListenerSet that a parentRef names is not served.
func (u unservedReasons) reasonOfParent(ref cluster.Ref) string {
	if ref.Kind != cluster.KindGateway && ref.Kind != cluster.KindListenerSet {
		return fmt.Sprintf("kind %q is not served; name a Gateway or a ListenerSet", ref.Kind)
	}
	obj, _ := u.store.Get(ref)
	gw, isGateway := obj.(*gwv1.Gateway)
	switch {
	case obj == nil && notReadReason(ref, u.source) != "":
		return notReadReason(ref, u.source)
	case obj == nil:
		return fmt.Sprintf("%s does not exist%s; correct its name and namespace, or create it", ref, similarNameHint(u.store, ref.Kind, ref.Namespace, ref.Name))
	case isGateway:
		return ref.String() + ": " + u.reasonOfGateway(gw)
	}
	return fmt.Sprintf("no load balancer of this controller serves %s; check its spec.parentRef", ref)
}
