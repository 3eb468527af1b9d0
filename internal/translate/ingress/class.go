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
	controllerName    = cluster.IngressControllerName
	classAnnotation   = cluster.ClassAnnotation
	albClass          = "alb"
	paramsAPIGroup    = "elbv2.k8s.aws"
	paramsKind        = "IngressClassParams"
	classNameField    = "spec.ingressClassName"
	defaultClassField = "spec.ingressClassName (default class)"
)

// classification reports whether this controller serves an Ingress, and has the class parameters of the Ingress. If there is
// a fault, managed is always false, but params are set if they were found.
type classification struct {
	managed bool
	// namespaceRefused is set, together with a fault, if the class does not admit the namespace of the Ingress. Then
	// existing rules of the Ingress are no longer permitted.
	namespaceRefused bool
	params           *v1beta1.IngressClassParams
	fault            *finding.Finding
}

// classify determines, by the class of an Ingress, whether this controller serves the Ingress. The result does not depend on
// whether the Ingress is being deleted.
func (f *Frontend) classify(v *cluster.View, ing *networkingv1.Ingress) classification {
	if class, ok := ing.Annotations[classAnnotation]; ok {
		return classification{managed: class == f.opt.Class || f.opt.Class == "" && class == albClass}
	}
	if name := ing.Spec.IngressClassName; name != nil {
		class, ok := cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", *name)
		if !ok {
			return missingClassFault(v, ing, *name)
		}
		return f.classifyByClass(v, ing, class)
	}
	return f.classifyByDefaultClass(v, ing)
}

// missingClassFault returns the fault of an Ingress whose class does not exist. It lists the other classes only to suggest a
// name, and does not subscribe to their changes. Otherwise each change of a class would enqueue all Ingresses with a missing
// class, and a tenant can create any number of these. The command fulcrum explain lists the classes.
func missingClassFault(v *cluster.View, ing *networkingv1.Ingress, name string) classification {
	var ours []string
	for _, c := range cluster.List[*networkingv1.IngressClass](v.Unsubscribed(), cluster.Query{Kind: cluster.KindIngressClass}) {
		if c.Spec.Controller == controllerName {
			ours = append(ours, c.Name)
		}
	}
	return classificationFault(ing, finding.IngressClassInvalid, classNameField,
		fmt.Sprintf("IngressClass %s does not exist%s%s", name, finding.SpellingHint(name, ours), classHeldText),
		"use an IngressClass with spec.controller "+controllerName+", or create IngressClass "+name+" with it")
}

// classifyByDefaultClass classifies an Ingress without a class by the default class. If there are several default classes,
// and one of them belongs to this controller, the Ingress has a fault; otherwise it is not served.
func (f *Frontend) classifyByDefaultClass(v *cluster.View, ing *networkingv1.Ingress) classification {
	var defaults []*networkingv1.IngressClass
	ours := false
	for _, c := range cluster.List[*networkingv1.IngressClass](v, cluster.Query{Kind: cluster.KindIngressClass}) {
		if c.Annotations[cluster.DefaultClassAnnotation] == "true" {
			defaults = append(defaults, c)
			ours = ours || c.Spec.Controller == controllerName
		}
	}
	switch {
	case len(defaults) == 0 && f.opt.Class != "" && len(ownership.ClaimedStacks(v, ing)) > 0:
		// The finding does not name defaultClassField, because admission denies edits for that field, and this Ingress must
		// remain editable.
		return classificationFault(ing, finding.IngressClassInvalid, classNameField,
			"no class is set, and there is no default class; resources in AWS stay unchanged", "name a class, or mark one as default")
	case len(defaults) == 0:
		return classification{managed: f.opt.Class == ""}
	case len(defaults) == 1:
		return f.classifyByClass(v, ing, defaults[0])
	case !ours:
		return classification{}
	}
	return classificationFault(ing, finding.IngressClassInvalid, defaultClassField,
		fmt.Sprintf("no class is set, and %d classes are marked as default, such as %s and %s%s", len(defaults), defaults[0].Name, defaults[1].Name, classHeldText),
		"set spec.ingressClassName, or mark only one class as default")
}

func (f *Frontend) classifyByClass(v *cluster.View, ing *networkingv1.Ingress, class *networkingv1.IngressClass) classification {
	if class.Spec.Controller != controllerName {
		return classification{}
	}
	ref := class.Spec.Parameters
	if ref == nil {
		return classification{managed: true}
	}
	if ref.APIGroup == nil || *ref.APIGroup != paramsAPIGroup || ref.Kind != paramsKind {
		return classificationFault(ing, finding.IngressClassInvalid, classNameField,
			fmt.Sprintf("IngressClass %s has parameters of a kind other than %s of %s%s", class.Name, paramsKind, paramsAPIGroup, classHeldText), "correct spec.parameters of the class")
	}
	params, ok := cluster.Get[*v1beta1.IngressClassParams](v, cluster.KindIngressClassParams, "", ref.Name)
	if !ok {
		return classificationFault(ing, finding.IngressClassInvalid, classNameField,
			fmt.Sprintf("IngressClass %s has parameters %s, which do not exist%s", class.Name, ref.Name, classHeldText), "create the IngressClassParams or correct the class")
	}
	out := classifyByParams(v, ing, class.Name, params)
	out.params, out.managed = params, out.fault == nil
	return out
}

// classifyByParams checks the namespace selector of class parameters. If the selector is not valid, or the namespace is not
// found, existing rules remain permitted.
func classifyByParams(v *cluster.View, ing *networkingv1.Ingress, class string, p *v1beta1.IngressClassParams) classification {
	sel := p.Spec.NamespaceSelector
	if sel == nil || len(sel.MatchLabels) == 0 && len(sel.MatchExpressions) == 0 {
		return classification{}
	}
	selector, err := metav1.LabelSelectorAsSelector(sel)
	if err != nil {
		return classificationFault(ing, finding.IngressClassInvalid, classNameField,
			fmt.Sprintf("IngressClassParams %s has a namespaceSelector that cannot be read: %v%s", p.Name, err, classHeldText), "correct the selector")
	}
	ns, ok := cluster.Get[*corev1.Namespace](v, cluster.KindNamespace, "", ing.Namespace)
	if ok && selector.Matches(labels.Set(ns.Labels)) {
		return classification{}
	}
	out := classificationFault(ing, finding.NamespaceNotAllowed, classNameField,
		fmt.Sprintf("the namespaceSelector of IngressClassParams %q of IngressClass %q does not match namespace %q; no rule of the Ingress is served", p.Name, class, ing.Namespace),
		"use another IngressClass, or set the labels of the namespace that the namespaceSelector requires")
	out.namespaceRefused = ok
	return out
}

// classHeldText is the end of messages about an Ingress whose class or IngressGroup is not known.
const classHeldText = "; resources in AWS stay unchanged, and no new ones are created"

// classificationFault returns the classification of an Ingress whose class has a fault, or does not admit its namespace.
func classificationFault(ing *networkingv1.Ingress, reason finding.Reason, field, message, fix string) classification {
	return classification{fault: &finding.Finding{
		Object: cluster.RefOf(ing), Field: field, Reason: reason, Severity: finding.Error,
		Message: message, Fix: fix, Blocks: finding.BlocksMember,
	}}
}
