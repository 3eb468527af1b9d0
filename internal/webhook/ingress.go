package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// The annotations that the rules read; everything else about annotations is the translator's.
const (
	prefix              = "alb.ingress.kubernetes.io/"
	groupAnnotation     = prefix + "group.name"
	conditionAnnotation = prefix + "conditions."
	classAnnotation     = "kubernetes.io/ingress.class"
	anyClass            = "alb"
	severalDefaults     = "spec.ingressClassName (default class)"
)

// The checks of Ingresses.
const (
	checkClass           = "checkIngressClass"
	checkClassAnnotation = "checkIngressClassAnnotationUsage"
	checkGroupName       = "checkGroupNameAnnotationUsage"
	checkConditions      = "checkIngressAnnotationConditions"
)

// maxWarnings keeps an answer readable, and below the limit at which the API server truncates.
const maxWarnings = 10

// validateIngress denies what can never work, or is not allowed, and warns of everything else that
// the translation finds. An object that is being deleted, or that does not change in what is read,
// is allowed: finalizers have to be removable whatever the state of the class.
func (c Config) validateIngress(_ context.Context, r Request) (Answer, error) {
	ing, err := ingressOf(r, r.Object)
	if err != nil {
		return Answer{}, err
	}
	var old *networkingv1.Ingress
	if len(r.Old) > 0 {
		if old, err = ingressOf(r, r.Old); err != nil {
			return Answer{}, err
		}
	}
	if !c.isWatched(r.Namespace) || ing.DeletionTimestamp != nil || old != nil && sameContent(ing, old) {
		return Answer{}, nil
	}
	v := cluster.NewView(withProposed(c.Source, ing))
	found := c.findings(v, ing)
	served := c.Ingress.MayServe(v, ing)
	before := old != nil && c.Ingress.MayServe(v, old)
	if v.Err() != nil {
		return Answer{}, v.Err()
	}
	if !served {
		return Answer{}, nil
	}
	out := Answer{Warnings: warnings(found)}
	refuse := func(check, message string) (Answer, error) {
		out.Refusal = &Refusal{Check: check, Message: message}
		return out, nil
	}
	if text := refusals(found, checkClass); text != "" {
		return refuse(checkClass, text)
	}
	if c.DenyClassAnnotation && c.isOwnClass(ing) && (old == nil || !c.isOwnClass(old)) {
		return refuse(checkClassAnnotation, "new usage of `"+classAnnotation+"` annotation is forbidden")
	}
	if group, ok := ing.Annotations[groupAnnotation]; c.DenyGroupName && ok {
		had, hadAny := "", false
		if before {
			had, hadAny = old.Annotations[groupAnnotation]
		}
		if !hadAny || had != group {
			return refuse(checkGroupName, "new usage of `"+groupAnnotation+"` annotation is forbidden")
		}
	}
	// Without its class the Ingress may belong to another controller; the translation finds out
	// whether it has been ours.
	if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.IngressClassInvalid }) {
		found = append(found, pathFindings(ing)...).Sorted()
	}
	if text := refusals(found, checkConditions); text != "" {
		return refuse(checkConditions, text)
	}
	return out, nil
}

func ingressOf(r Request, raw []byte) (*networkingv1.Ingress, error) {
	ing := &networkingv1.Ingress{}
	if err := decode(raw, ing); err != nil {
		return nil, err
	}
	ing.Namespace = r.Namespace
	if ing.Name == "" {
		ing.Name = ing.GenerateName // the API server has not chosen the real one yet
	}
	return ing, nil
}

// findings translates every stack that the Ingress is a member of and returns the findings about
// it.
func (c Config) findings(v *cluster.View, ing *networkingv1.Ingress) finding.List {
	var out finding.List
	ref := finding.Ref{Kind: string(cluster.KindIngress), Namespace: ing.Namespace, Name: ing.Name}
	for _, id := range c.Ingress.Stacks(v, ing) {
		_, found := c.Ingress.Translate(v, id, nil)
		out = append(out, found.On(ref)...)
	}
	return out.Sorted()
}

// Check returns the check that denies an Ingress for a finding, "" if the finding does not deny
// it. A class or class parameters that do not exist may be created later, so they do not deny
// it.
func Check(f finding.Finding) string {
	switch {
	case f.Reason == finding.NamespaceNotAllowed, f.Reason == finding.IngressClassInvalid && f.Field == severalDefaults:
		return checkClass
	case f.Blocks > finding.BlocksNothing && strings.HasPrefix(f.Field, conditionAnnotation):
		return checkConditions
	case f.Reason == finding.BackendUnsupported && strings.HasPrefix(f.Field, "spec.rules"):
		return checkConditions
	}
	return ""
}

func refusals(found finding.List, check string) string {
	var out []string
	for _, f := range found {
		if Check(f) == check {
			out = append(out, f.Located())
		}
	}
	return strings.Join(out, "; ")
}

// warnings returns the faults that do not deny. Secrets are not read here, so faults of Secrets are
// not among them.
func warnings(found finding.List) []string {
	var out []string
	for _, f := range found {
		if f.Severity != finding.Error || Check(f) != "" || f.Reason == finding.SecretNotFound || f.Reason == finding.SecretInvalid {
			continue
		}
		out = append(out, f.Located())
	}
	if more := len(out) - maxWarnings; more > 0 {
		out = append(out[:maxWarnings], fmt.Sprintf("and %d more", more))
	}
	return out
}

// sameContent reports whether two states differ at most in metadata that is not read, such as the
// plan.
func sameContent(a, b *networkingv1.Ingress) bool {
	return maps.Equal(reported(a), reported(b)) && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

func reported(ing *networkingv1.Ingress) map[string]string {
	out := map[string]string{}
	for k, v := range ing.Annotations {
		if k == classAnnotation || strings.HasPrefix(k, prefix) && k != cluster.PlanAnnotation {
			out[k] = v
		}
	}
	return out
}

// isOwnClass reports whether the class annotation makes the Ingress ours.
func (c Config) isOwnClass(ing *networkingv1.Ingress) bool {
	class, ok := ing.Annotations[classAnnotation]
	return ok && (class == c.IngressClass || c.IngressClass == "" && class == anyClass)
}

// pathFindings returns the findings about paths that deny an Ingress. The translation makes the same,
// unless it stops before the paths because the Ingress is held for another reason.
func pathFindings(ing *networkingv1.Ingress) finding.List {
	ref := finding.Ref{Kind: string(cluster.KindIngress), Namespace: ing.Namespace, Name: ing.Name}
	reported := settings.ParseIngress(ing.Annotations, ref)
	var out finding.List
	for i, rule := range ing.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j, path := range rule.HTTP.Paths {
			svc := path.Backend.Service
			if svc == nil {
				out.Add(finding.Finding{
					Object: ref, Field: fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j), Reason: finding.BackendUnsupported,
					Message: "the backend is not a Service", Fix: "use a Service, or an actions annotation with port use-annotation", Blocks: finding.BlocksRule,
				})
			} else if f := reported.Conditions[svc.Name].Check(); f != nil {
				out.Add(f.Finding(finding.BlocksRule))
			}
		}
	}
	return out
}
