package ingress

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

const (
	controllerName      = cluster.IngressController
	classAnnotation     = cluster.ClassAnnotation
	defaultAnnotation   = "ingressclass.kubernetes.io/is-default-class"
	defaultClass        = "alb"
	paramsGroup         = "elbv2.k8s.aws"
	paramsKind          = "IngressClassParams"
	classNameField      = "spec.ingressClassName"
	fieldOfClassDefault = "spec.ingressClassName (default class)"
)

// classified reports whether an Ingress is served here, and by which class parameters. With a fault
// it is not known; the class parameters still are, if it has them.
type classified struct {
	managed bool
	// refused is set with a fault where the class does not admit the namespace, which takes the right to serve away.
	refused bool
	params  *v1beta1.IngressClassParams
	fault   *finding.Finding
}

// classify decides whether the Ingress is ours. Deletion makes no difference here.
func (f *Frontend) classify(v *cluster.View, ing *networkingv1.Ingress) classified {
	if class, ok := ing.Annotations[classAnnotation]; ok {
		return classified{managed: class == f.opt.Class || f.opt.Class == "" && class == defaultClass}
	}
	if name := ing.Spec.IngressClassName; name != nil {
		class, ok := cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", *name)
		if !ok {
			return missingClass(v, ing, *name)
		}
		return f.classifyByClass(v, ing, class)
	}
	return f.classifyByDefault(v, ing)
}

// missingClass returns the fault of an Ingress whose class does not exist. The text does not list classes, and the
// one that was probably meant is looked for without subscribing: each change of one would be a change of all such
// Ingresses, of which a tenant can make any number. "fulcrum explain" lists them.
func missingClass(v *cluster.View, ing *networkingv1.Ingress, name string) classified {
	var ours []string
	for _, c := range cluster.List[*networkingv1.IngressClass](v.Unsubscribed(), cluster.Query{Kind: cluster.KindIngressClass}) {
		if c.Spec.Controller == controllerName {
			ours = append(ours, c.Name)
		}
	}
	return unclassified(ing, finding.IngressClassInvalid, classNameField,
		fmt.Sprintf("IngressClass %s does not exist%s; what is live stays, and nothing new is made", name, finding.DidYouMean(name, ours)),
		"name a class with spec.controller "+controllerName+", or create this one with it")
}

// classifyByDefault looks for the class of Ingresses that name none. Several default classes are a fault
// of the Ingress if one of them is ours, and none of our business otherwise.
func (f *Frontend) classifyByDefault(v *cluster.View, ing *networkingv1.Ingress) classified {
	var defaults []*networkingv1.IngressClass
	ours := false
	for _, c := range cluster.List[*networkingv1.IngressClass](v, cluster.Query{Kind: cluster.KindIngressClass}) {
		if c.Annotations[defaultAnnotation] == "true" {
			defaults = append(defaults, c)
			ours = ours || c.Spec.Controller == controllerName
		}
	}
	switch {
	case len(defaults) == 0 && f.opt.Class != "" && len(ownership.Claims(v, ing)) > 0:
		// Not the field of several defaults, for which admission denies: this one has to stay editable.
		return unclassified(ing, finding.IngressClassInvalid, classNameField,
			"no class is named, and no class is the default; what is live stays as it is", "name a class, or mark one as default")
	case len(defaults) == 0:
		return classified{managed: f.opt.Class == ""}
	case len(defaults) == 1:
		return f.classifyByClass(v, ing, defaults[0])
	case !ours:
		return classified{}
	}
	return unclassified(ing, finding.IngressClassInvalid, fieldOfClassDefault,
		fmt.Sprintf("no class is named and %d classes are marked as default, %s and %s among them", len(defaults), defaults[0].Name, defaults[1].Name),
		"set spec.ingressClassName, or leave one default class")
}

func (f *Frontend) classifyByClass(v *cluster.View, ing *networkingv1.Ingress, class *networkingv1.IngressClass) classified {
	if class.Spec.Controller != controllerName {
		return classified{}
	}
	ref := class.Spec.Parameters
	if ref == nil {
		return classified{managed: true}
	}
	if ref.APIGroup == nil || *ref.APIGroup != paramsGroup || ref.Kind != paramsKind {
		return unclassified(ing, finding.IngressClassInvalid, classNameField,
			fmt.Sprintf("IngressClass %s has parameters of a kind other than %s of %s", class.Name, paramsKind, paramsGroup), "correct spec.parameters of the class")
	}
	params, ok := cluster.Get[*v1beta1.IngressClassParams](v, cluster.KindIngressClassParams, "", ref.Name)
	if !ok {
		return unclassified(ing, finding.IngressClassInvalid, classNameField,
			fmt.Sprintf("IngressClass %s has parameters %s, which do not exist", class.Name, ref.Name), "create the IngressClassParams or correct the class")
	}
	out := classifyByParams(v, ing, class.Name, params)
	out.params, out.managed = params, out.fault == nil
	return out
}

// classifyByParams checks the namespace selector of class parameters. A selector that cannot be read, or a namespace
// that is not there, refuses nothing.
func classifyByParams(v *cluster.View, ing *networkingv1.Ingress, class string, p *v1beta1.IngressClassParams) classified {
	sel := p.Spec.NamespaceSelector
	if sel == nil || len(sel.MatchLabels) == 0 && len(sel.MatchExpressions) == 0 {
		return classified{}
	}
	selector, err := metav1.LabelSelectorAsSelector(sel)
	if err != nil {
		return unclassified(ing, finding.IngressClassInvalid, classNameField,
			fmt.Sprintf("IngressClassParams %s has a namespaceSelector that cannot be read: %v", p.Name, err), "correct the selector")
	}
	ns, ok := cluster.Get[*corev1.Namespace](v, cluster.KindNamespace, "", ing.Namespace)
	if ok && selector.Matches(labels.Set(ns.Labels)) {
		return classified{}
	}
	out := unclassified(ing, finding.NamespaceNotAllowed, classNameField,
		fmt.Sprintf("IngressClass %q does not admit Ingresses of namespace %q; none of its rules is served", class, ing.Namespace), "use another class, or label the namespace as the class demands")
	out.refused = ok
	return out
}

func unclassified(ing *networkingv1.Ingress, reason finding.Reason, field, message, fix string) classified {
	return classified{fault: &finding.Finding{
		Object: refOf(ing), Field: field, Reason: reason, Severity: finding.Error,
		Message: message, Fix: fix, Blocks: finding.BlocksMember,
	}}
}

func refOf(ing *networkingv1.Ingress) finding.Ref {
	return finding.Ref{Kind: string(cluster.KindIngress), Namespace: ing.Namespace, Name: ing.Name}
}
