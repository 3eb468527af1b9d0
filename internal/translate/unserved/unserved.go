// Package unserved finds objects that users probably intended for this controller, but that no controller serves because a
// name in them, or in their class, is mistyped. Objects that another controller serves are not reported.
package unserved

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Options are the settings of the operator that affect which objects are served.
type Options struct {
	// IngressClass is the class that the class annotation of an Ingress must name; if it is "", an Ingress needs no class.
	IngressClass string
	// Services selects the Services that the controller serves; nil if it serves none.
	Services *settings.ServiceSelection
	// Gateways reports whether Gateways are served.
	Gateways bool
}

const (
	// maxObjects is the maximum number of objects about which a fault of their class is reported, for each class.
	maxObjects = 20

	typeAnnotation       = settings.ServicePrefix + "aws-load-balancer-type"
	targetTypeAnnotation = settings.ServicePrefix + "aws-load-balancer-nlb-target-type"
)

// ObjectsToReport returns a reference to the object if there is a finding about the object, and nil otherwise.
func ObjectsToReport(v *cluster.View, obj cluster.Object, opt Options) []cluster.Ref {
	if len(findingsAbout(v, obj, opt)) == 0 {
		return nil
	}
	return []cluster.Ref{cluster.RefOf(obj)}
}

// FindingFor returns the finding that explains why an object is not served; false if there is none.
func FindingFor(v *cluster.View, obj cluster.Object, opt Options) (finding.Finding, bool) {
	found := findingsAbout(v, obj, opt).ForObject(cluster.RefOf(obj))
	if len(found) == 0 {
		return finding.Finding{}, false
	}
	return found[0], true
}

// Report returns the findings about an object. An object that was just created is not reported yet. In this case, Report
// must be called again after the time wait.
func Report(v *cluster.View, ref cluster.Ref, opt Options, now time.Time) (found finding.List, wait time.Duration) {
	obj, err := v.Object(ref.Kind, ref.Namespace, ref.Name)
	if obj == nil || err != nil {
		return nil, 0
	}
	if found = findingsAbout(v, obj, opt); len(found) == 0 {
		return nil, 0
	}
	if wait = durations.MissingWait - now.Sub(obj.GetCreationTimestamp().Time); wait > 0 {
		return nil, wait
	}
	return found, 0
}

func findingsAbout(v *cluster.View, obj cluster.Object, opt Options) finding.List {
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	switch o := obj.(type) {
	case *networkingv1.IngressClass:
		return ingressClassFindings(v, o)
	case *networkingv1.Ingress:
		return ingressFindings(v, o, opt)
	case *corev1.Service:
		return serviceFindings(o, opt)
	case *gwv1.GatewayClass:
		if opt.Gateways {
			return gatewayClassFindings(v, o)
		}
	case *gwv1.Gateway:
		if opt.Gateways {
			return gatewayFindings(v, o)
		}
	case *gwconfig.TargetGroupConfiguration:
		return missingServiceFindings(v, o)
	}
	return nil
}

// notServedFinding returns the finding that an object is not served.
func notServedFinding(obj cluster.Object, field, message, fix string) finding.Finding {
	return finding.Finding{Object: cluster.RefOf(obj), Field: field, Reason: finding.NotServed, Severity: finding.Warning, Message: message, Fix: fix}
}

// isMistyped reports whether a value is similar to a known value but equal to none.
func isMistyped(value string, known ...string) bool {
	return !slices.Contains(known, value) && finding.NearestWord(value, known) != ""
}

// mistypedText returns the beginning of a message about a mistyped value, with a suggestion of the known value that the user
// probably intended.
func mistypedText(value string, known ...string) string {
	return fmt.Sprintf("%q is unknown to this controller%s", finding.TruncateValue(value), finding.SpellingHint(value, known))
}

func ingressClassFindings(v *cluster.View, c *networkingv1.IngressClass) finding.List {
	if !isMistyped(c.Spec.Controller, cluster.IngressControllerName) {
		return nil
	}
	wrong := mistypedText(c.Spec.Controller, cluster.IngressControllerName)
	out := finding.List{notServedFinding(c, "spec.controller", wrong+"; Ingresses of this class are not served", fmt.Sprintf("delete the class and create it again with %q, as spec.controller cannot be changed", cluster.IngressControllerName))}
	for _, ing := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress, Index: cluster.IngressByClass, Value: c.Name}) {
		if len(out) > maxObjects {
			break
		}
		if !isServed(ing) {
			out.Add(mistypedControllerFinding(ing, "spec.ingressClassName", "IngressClass", c.Name, "controller "+wrong))
		}
	}
	return out
}

// mistypedControllerFinding returns the finding about an object whose class has a mistyped controller.
func mistypedControllerFinding(obj cluster.Object, field, kind, name, wrong string) finding.Finding {
	return notServedFinding(obj, field, fmt.Sprintf("%s %s: %s; nothing is created", kind, name, wrong), "correct the class, or name another one")
}

// isServed reports whether an Ingress shows signs that a controller serves it: a status, a finalizer or a class annotation.
// It is true for an Ingress that is being deleted.
func isServed(ing *networkingv1.Ingress) bool {
	return ing.DeletionTimestamp != nil || len(ing.Status.LoadBalancer.Ingress)+len(ing.Finalizers) > 0 || ing.Annotations[cluster.ClassAnnotation] != ""
}

func ingressFindings(v *cluster.View, ing *networkingv1.Ingress, opt Options) finding.List {
	if isServed(ing) {
		return nil
	}
	if name := ing.Spec.IngressClassName; name != nil {
		class, ok := cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", *name)
		if !ok || !isMistyped(class.Spec.Controller, cluster.IngressControllerName) {
			return nil
		}
		return finding.List{mistypedControllerFinding(ing, "spec.ingressClassName", "IngressClass", class.Name, "controller "+mistypedText(class.Spec.Controller, cluster.IngressControllerName))}
	}
	if opt.IngressClass == "" || !hasALBAnnotations(ing) {
		return nil
	}
	for _, c := range cluster.List[*networkingv1.IngressClass](v, cluster.Query{Kind: cluster.KindIngressClass}) {
		if c.Annotations[cluster.DefaultClassAnnotation] == "true" {
			return nil
		}
	}
	return finding.List{notServedFinding(ing, "spec.ingressClassName", "no class is named, and no class is the default; nothing is created, although the Ingress has annotations "+settings.Prefix+"…",
		"use a class with spec.controller "+cluster.IngressControllerName+", or mark one as default")}
}

// ownGatewayClassNames returns the names of the GatewayClasses of this controller. It does not subscribe to their changes: a
// tenant can create any number of Gateways whose class does not exist, and each change would enqueue all of them.
func ownGatewayClassNames(v *cluster.View) (out []string) {
	for _, c := range cluster.List[*gwv1.GatewayClass](v.Unsubscribed(), cluster.Query{Kind: cluster.KindGatewayClass}) {
		if gatewayconfig.IsOwnClass(c) {
			out = append(out, c.Name)
		}
	}
	return out
}

// hasALBAnnotations reports whether an Ingress has annotations that only this controller reads.
func hasALBAnnotations(ing *networkingv1.Ingress) bool {
	for key := range ing.Annotations {
		if strings.HasPrefix(key, settings.Prefix) {
			return true
		}
	}
	return false
}

func serviceFindings(svc *corev1.Service, opt Options) finding.List {
	if opt.Services == nil || len(svc.Finalizers) > 0 || opt.Services.Serves(svc) ||
		opt.Services.LoadBalancersOnly && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	const nothing = "; the Service gets no load balancer of this controller"
	if class := svc.Spec.LoadBalancerClass; class != nil {
		if !isMistyped(*class, opt.Services.Class) {
			return nil
		}
		return finding.List{notServedFinding(svc, "spec.loadBalancerClass", mistypedText(*class, opt.Services.Class)+nothing,
			fmt.Sprintf("delete the Service and create it again with %q, as spec.loadBalancerClass cannot be changed", opt.Services.Class))}
	}
	switch kind := svc.Annotations[typeAnnotation]; {
	case isMistyped(kind, settings.LoadBalancerTypes...):
		return finding.List{notServedFinding(svc, typeAnnotation, mistypedText(kind, settings.LoadBalancerTypes...)+nothing, "correct the annotation")}
	case kind == settings.LoadBalancerTypes[0] && svc.Annotations[targetTypeAnnotation] != "":
		known := []string{string(model.IPTargets), string(model.InstanceTargets)}
		value := svc.Annotations[targetTypeAnnotation]
		return finding.List{notServedFinding(svc, targetTypeAnnotation, fmt.Sprintf("%q is neither ip nor instance%s%s", finding.TruncateValue(value), finding.SpellingHint(value, known), nothing), "set the annotation to ip or instance")}
	}
	return nil
}

func gatewayControllerNames() (out []string) {
	for _, c := range gatewayconfig.Controllers {
		out = append(out, string(c))
	}
	return out
}

func gatewayClassFindings(v *cluster.View, c *gwv1.GatewayClass) finding.List {
	known := gatewayControllerNames()
	if !isMistyped(string(c.Spec.ControllerName), known...) {
		return nil
	}
	wrong := mistypedText(string(c.Spec.ControllerName), known...)
	out := finding.List{notServedFinding(c, "spec.controllerName", wrong+"; Gateways of this class are not served", "delete the class and create it again, as spec.controllerName cannot be changed")}
	for _, gw := range cluster.List[*gwv1.Gateway](v, cluster.Query{Kind: cluster.KindGateway, Index: cluster.GatewayByClass, Value: c.Name}) {
		if len(out) > maxObjects {
			break
		}
		if gw.DeletionTimestamp == nil && len(gw.Status.Addresses)+len(gw.Finalizers) == 0 {
			out.Add(mistypedControllerFinding(gw, "spec.gatewayClassName", "GatewayClass", c.Name, "controllerName "+wrong))
		}
	}
	return out
}

func gatewayFindings(v *cluster.View, gw *gwv1.Gateway) finding.List {
	if len(gw.Status.Addresses)+len(gw.Finalizers) > 0 {
		return nil
	}
	known := gatewayControllerNames()
	class, ok := cluster.Get[*gwv1.GatewayClass](v, cluster.KindGatewayClass, "", string(gw.Spec.GatewayClassName))
	if !ok {
		near := finding.SpellingHint(string(gw.Spec.GatewayClassName), ownGatewayClassNames(v))
		if near == "" {
			return nil // another controller may not need the class
		}
		return finding.List{notServedFinding(gw, "spec.gatewayClassName", fmt.Sprintf("GatewayClass %q does not exist%s; nothing is created",
			finding.TruncateValue(string(gw.Spec.GatewayClassName)), near), "correct the name, or create the class")}
	}
	if !isMistyped(string(class.Spec.ControllerName), known...) {
		return nil
	}
	return finding.List{mistypedControllerFinding(gw, "spec.gatewayClassName", "GatewayClass", class.Name, "controllerName "+mistypedText(string(class.Spec.ControllerName), known...))}
}

// missingServiceFindings returns a finding if a TargetGroupConfiguration is for a Service that does not exist.
func missingServiceFindings(v *cluster.View, o *gwconfig.TargetGroupConfiguration) finding.List {
	ref := o.Spec.TargetReference
	if ref == nil || ref.Kind != nil && *ref.Kind != "" && *ref.Kind != cluster.KindService {
		return nil
	}
	if _, ok := cluster.Get[*corev1.Service](v, cluster.KindService, o.Namespace, ref.Name); ok {
		return nil
	}
	var names []string // read without subscribing to changes of the Services
	for _, svc := range cluster.List[*corev1.Service](v.Unsubscribed(), cluster.Query{Kind: cluster.KindService, Namespace: o.Namespace}) {
		names = append(names, svc.Name)
	}
	return finding.List{{
		Object: cluster.RefOf(o), Field: "spec.targetReference.name", Reason: finding.ParametersInvalid, Severity: finding.Warning,
		Message: fmt.Sprintf("Service %q does not exist%s; the configuration has no effect", o.Namespace+"/"+finding.TruncateValue(ref.Name), finding.SpellingHint(ref.Name, names)),
		Fix:     "create the Service, or correct the name",
	}}
}
