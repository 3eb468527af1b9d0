package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// useAnnotationPort is the port name of a backend whose action is in an actions annotation.
const useAnnotationPort = "use-annotation"

// actions builds the actions of a rule, or of a default backend, on a port. If the actions cannot be built, it returns
// false, and the rule is held.
func (t *translation) actions(m *member, p *members.Port, b networkingv1.IngressBackend, at finding.Origin) ([]model.Action, bool) {
	last, service, ok := t.finalAction(m, b, at)
	if !p.TLS {
		return []model.Action{last}, ok
	}
	auth, authOK := authBuilder{t}.authActions(m, service, at)
	if !ok || !authOK {
		return nil, false
	}
	return append(auth, last), true
}

// finalAction builds the last action of a rule: a forward, redirect or fixed response. service is the Service whose
// annotations configure the backend; nil if the backend is not exactly one Service.
func (t *translation) finalAction(m *member, b networkingv1.IngressBackend, at finding.Origin) (_ model.Action, service *corev1.Service, ok bool) {
	if b.Service == nil {
		t.Found.Add(UnsupportedBackendFinding(at))
		return nil, nil, false
	}
	if b.Service.Port.Name != useAnnotationPort {
		port := intstr.FromInt32(b.Service.Port.Number)
		if b.Service.Port.Name != "" {
			port = intstr.FromString(b.Service.Port.Name)
		}
		return t.buildForward(m, settings.Action{Targets: []settings.ActionTarget{{Service: b.Service.Name, Port: port}}}, at)
	}
	action := m.set.Actions[b.Service.Name]
	if f := action.Check(); f != nil {
		t.ReportFault(m.Member, *f, finding.BlocksRule)
		return nil, nil, false
	}
	if !action.Set {
		fault := finding.Finding{
			Object: at.Object, Field: at.Field, Reason: finding.ActionNotFound,
			Message: fmt.Sprintf("annotation %sactions.%s does not exist%s", settings.Prefix, b.Service.Name, m.similarAction(b.Service.Name)),
			Fix:     "add the annotation or change the backend",
		}
		return t.missingBackendAction(fault, t.opt.RequireActions, "Backend action does not exist")
	}
	if action.Value.Direct != nil {
		return action.Value.Direct, nil, true
	}
	return t.buildForward(m, action.Value, at)
}

// UnsupportedBackendFinding returns the finding about a backend that is not a Service.
func UnsupportedBackendFinding(at finding.Origin) finding.Finding {
	return finding.Finding{
		Object: at.Object, Field: at.Field, Reason: finding.BackendUnsupported,
		Message: "the backend is not a Service" + assemble.RuleHeldText, Fix: "use a Service, or an actions annotation with port use-annotation", Blocks: finding.BlocksRule,
	}
}

// similarAction returns the suggestion of an action with a name similar to name; "" if there is none. Only the first
// settings.MaxSuggestions missing actions of an Ingress get a suggestion, because each suggestion compares all names.
func (m *member) similarAction(name string) string {
	if m.missingActions++; m.missingActions > settings.MaxSuggestions {
		return ""
	}
	return finding.SpellingHint(name, slices.Sorted(maps.Keys(m.set.Actions)))
}

// missingBackendAction reports a Service or an action that does not exist. It returns a fixed response with status 503 and
// body. If required is true, it returns no action and false, so that the rule is held.
func (t *translation) missingBackendAction(fault finding.Finding, required bool, body string) (model.Action, *corev1.Service, bool) {
	if required {
		fault.Message += assemble.RuleHeldText
		fault.Blocks = finding.BlocksRule
		t.Found.Add(fault)
		return nil, nil, false
	}
	fault.Message += ", so requests are answered with 503"
	t.Found.Add(fault)
	return model.FixedResponse{Status: "503", ContentType: "text/plain", Body: body}, nil, true
}

// checkTargetGroupLimit counts ref, the name or ARN of a target group that a member references. It reports whether the
// number of target groups is within the maximum, and adds a finding if it is not.
func (t *translation) checkTargetGroupLimit(m *member, ref string, at finding.Origin) bool {
	if t.namedTargetGroups.Add(m.Ref.Namespace, ref) {
		return true
	}
	t.Found.Add(finding.Finding{
		Object: at.Object, Field: at.Field, Reason: finding.IngressTooLarge,
		Message: fmt.Sprintf("the Ingresses of namespace %s name more than %d target groups by name or ARN, which is the maximum of a load balancer%s", m.Ref.Namespace, assemble.MaxNamedTargetGroups, assemble.RuleHeldText),
		Fix:     "name fewer target groups, or split the Ingresses over several IngressGroups", Blocks: finding.BlocksRule,
	})
	return false
}

// buildForward builds the forward action to all targets of an actions annotation, or to a single backend. service is the
// target if there is only one and it is a Service; nil otherwise. ok is false if the action cannot be built.
func (t *translation) buildForward(m *member, a settings.Action, at finding.Origin) (_ model.Action, service *corev1.Service, ok bool) {
	if t.opt.NoWeightedTargetGroups && len(a.Targets) > 1 {
		t.Found.Add(finding.Finding{
			Object: at.Object, Field: at.Field, Reason: finding.FeatureDisabled,
			Message: "forwarding to more than one target group is disabled" + assemble.RuleHeldText,
			Fix:     "forward to one target group, or ask the operator to enable feature gate WeightedTargetGroups", Blocks: finding.BlocksRule,
		})
		return nil, nil, false
	}
	out := model.Forward{Stickiness: a.Stickiness}
	ok = true
	for _, target := range a.Targets {
		ref := model.TargetGroupRef{ARN: target.ARN, Name: target.Name}
		if target.Service == "" && !t.checkTargetGroupLimit(m, cmp.Or(target.Name, target.ARN), at) {
			ok = false
			continue
		}
		if target.Service != "" {
			svc, exists := cluster.GetReferenced[*corev1.Service](t.view, m.ing, cluster.KindService, m.Ref.Namespace, target.Service)
			if !exists {
				fault := finding.Finding{
					Object: at.Object, Field: at.Field, Reason: finding.BackendNotFound,
					Message: fmt.Sprintf("Service %s/%s does not exist", m.Ref.Namespace, target.Service),
					Fix:     "create the Service or correct its name",
				}
				if action, svc, tolerated := t.missingBackendAction(fault, t.opt.RequireServices || len(a.Targets) > 1, "Backend service does not exist"); tolerated {
					return action, svc, true
				}
				ok = false
				continue
			}
			if len(a.Targets) == 1 {
				service = svc
			}
			handle, usable := t.targetGroup(m, svc, target.Port, at)
			if !usable {
				ok = false
				continue
			}
			ref = model.TargetGroupRef{ID: handle}
		}
		out.Groups = append(out.Groups, model.WeightedTargetGroup{Group: ref, Weight: target.Weight})
	}
	if ok && len(out.Groups) > 1 && out.AreWeightsZero() {
		t.Found.Add(finding.NewAllWeightsZeroFinding(at, "requests are answered with 503"))
	}
	return out, service, ok
}
