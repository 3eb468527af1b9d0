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
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Annotations and finding fields that the checks in this file use.
const (
	ingressGroupAnnotation = settings.Prefix + "group.name"
	conditionAnnotation    = settings.Prefix + "conditions."
	defaultClassField      = "spec.ingressClassName (default class)"
)

// The names of the checks of Ingresses in metrics.
const (
	ingressClassCheck     = "checkIngressClass"
	classAnnotationCheck  = "checkIngressClassAnnotationUsage"
	ingressGroupNameCheck = "checkGroupNameAnnotationUsage"
	conditionsCheck       = "checkIngressAnnotationConditions"
)

// maxWarnings is the maximum number of warnings in an answer. The API server truncates long answers.
const maxWarnings = 10

// validateIngress denies an Ingress with forbidden annotations, or with findings for which DenialCheckName returns a check.
// For other errors, it adds warnings to the answer. It allows every update if the Ingress is being deleted, or if the update
// does not change the relevant content, because the controller must be able to remove the finalizer.
func (c Config) validateIngress(_ context.Context, r Request) (Response, error) {
	ing := &networkingv1.Ingress{}
	if err := r.decode(r.Object, ing); err != nil {
		return Response{}, err
	}
	var old *networkingv1.Ingress
	if len(r.Old) > 0 {
		old = &networkingv1.Ingress{}
		if err := r.decode(r.Old, old); err != nil {
			return Response{}, err
		}
	}
	if ing.DeletionTimestamp != nil || old != nil && sameContent(ing, old) {
		return Response{}, nil
	}
	v := cluster.NewView(newOverlaySource(c.Source, ing))
	found := c.ingressFindings(v, ing)
	served := c.Ingress.MayServe(v, ing)
	wasServed := old != nil && c.Ingress.MayServe(v, old)
	if v.Err() != nil {
		return Response{}, v.Err()
	}
	if !served {
		return Response{}, nil
	}
	out := Response{Warnings: warningTexts(found)}
	refuse := func(check, message string) (Response, error) {
		out.Refusal = &Denial{Check: check, Message: message}
		return out, nil
	}
	if text := denialMessage(found, ingressClassCheck); text != "" {
		return refuse(ingressClassCheck, text)
	}
	if c.DenyClassAnnotation && hasClassAnnotation(ing) && !(wasServed && hasClassAnnotation(old)) {
		return refuse(classAnnotationCheck, cluster.ClassAnnotation+": --disable-ingress-class-annotation forbids new uses; set spec.ingressClassName")
	}
	if group, ok := ing.Annotations[ingressGroupAnnotation]; c.DenyGroupName && ok {
		oldGroup, hadGroup := "", false
		if wasServed {
			oldGroup, hadGroup = old.Annotations[ingressGroupAnnotation]
		}
		if !hadGroup || oldGroup != group {
			return refuse(ingressGroupNameCheck, ingressGroupAnnotation+": --disable-ingress-group-name-annotation forbids new and changed values; remove it, or use a class whose parameters set the IngressGroup")
		}
	}
	// If the class is not valid, the backends are not checked, because the Ingress may belong to another controller.
	if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.IngressClassInvalid }) {
		found = append(found, backendFindings(ing)...).Sorted()
	}
	if text := denialMessage(found, conditionsCheck); text != "" {
		return refuse(conditionsCheck, text)
	}
	return out, nil
}

// ingressFindings translates all stacks of an Ingress, and returns the findings about the Ingress.
func (c Config) ingressFindings(v *cluster.View, ing *networkingv1.Ingress) finding.List {
	var out finding.List
	ref := finding.Ref{Kind: cluster.KindIngress, Namespace: ing.Namespace, Name: ing.Name}
	for _, id := range c.Ingress.Stacks(v, ing) {
		_, found := c.Ingress.Translate(v, id, nil)
		out = append(out, found.ForObject(ref)...)
	}
	return out.Sorted()
}

// DenialCheckName returns the name of the check that denies an Ingress with a finding, or "" if no check denies it. An
// Ingress whose class or class parameters do not exist is not denied, because the class or the parameters may be created
// later.
func DenialCheckName(f finding.Finding) string {
	switch {
	case f.Reason == finding.NamespaceNotAllowed, f.Reason == finding.IngressClassInvalid && f.Field == defaultClassField:
		return ingressClassCheck
	case f.Blocks > finding.BlocksNothing && strings.HasPrefix(f.Field, conditionAnnotation):
		return conditionsCheck
	case f.Reason == finding.BackendUnsupported:
		return conditionsCheck
	}
	return ""
}

// denialMessage returns the joined texts of the findings for which check denies an Ingress; "" if check does not deny it.
func denialMessage(found finding.List, check string) string {
	var out []string
	for _, f := range found {
		if DenialCheckName(f) == check {
			out = append(out, f.TextWithField())
		}
	}
	return strings.Join(out, "; ")
}

// warningTexts returns the texts of the errors for which no check denies an Ingress. Errors about Secrets are left out,
// because the webhook does not read Secrets. If members disagree on a setting, the value in AWS decides. The webhook does
// not read AWS, so it adds a note about this exception to the text.
func warningTexts(found finding.List) []string {
	var out []string
	for _, f := range found {
		if f.Severity != finding.Error || DenialCheckName(f) != "" || f.Reason == finding.SecretNotFound || f.Reason == finding.SecretInvalid {
			continue
		}
		if f.Reason == finding.AnnotationConflict {
			f.Message += ", unless AWS already has the value of another member"
		}
		out = append(out, f.TextWithField())
	}
	if more := len(out) - maxWarnings; more > 0 {
		out = append(out[:maxWarnings], fmt.Sprintf("and more errors: %d", more))
	}
	return out
}

// sameContent reports whether two versions of an Ingress have the same spec and the same annotations for the controller,
// except for the plan that the controller writes.
func sameContent(a, b *networkingv1.Ingress) bool {
	return maps.Equal(annotationsForTranslation(a), annotationsForTranslation(b)) && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// annotationsForTranslation returns the annotations of an Ingress that the translation reads.
func annotationsForTranslation(ing *networkingv1.Ingress) map[string]string {
	out := map[string]string{}
	for k, v := range ing.Annotations {
		if k == cluster.ClassAnnotation || strings.HasPrefix(k, settings.Prefix) && k != cluster.IngressPlanAnnotation {
			out[k] = v
		}
	}
	return out
}

// hasClassAnnotation reports whether an Ingress has the deprecated annotation for its class (cluster.ClassAnnotation).
func hasClassAnnotation(ing *networkingv1.Ingress) bool {
	_, ok := ing.Annotations[cluster.ClassAnnotation]
	return ok
}

// backendFindings returns the findings about invalid backends, for which an Ingress is denied. It is needed because the
// translation does not return these findings if it holds the Ingress for another reason.
func backendFindings(ing *networkingv1.Ingress) finding.List {
	ref := finding.Ref{Kind: cluster.KindIngress, Namespace: ing.Namespace, Name: ing.Name}
	parsed := settings.ParseIngress(ing.Annotations, ref)
	var out finding.List
	if b := ing.Spec.DefaultBackend; b != nil && b.Service == nil {
		out.Add(ingress.UnsupportedBackendFinding(finding.Origin{Object: ref, Field: "spec.defaultBackend"}))
	}
	for i, rule := range ing.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j, path := range rule.HTTP.Paths {
			if svc := path.Backend.Service; svc == nil {
				out.Add(ingress.UnsupportedBackendFinding(finding.Origin{Object: ref, Field: fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j)}))
			} else if f := parsed.Conditions[svc.Name].Check(); f != nil {
				out.Add(f.Finding(finding.BlocksRule))
			}
		}
	}
	return out
}
