package adversary

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// In cooperative tenancy an accepted member may place its rules before those of others with group.order, and may answer
// requests that no other rule answers. The attacker is entitled to that and nothing else. The functions below decide
// independently of the controller whether an Ingress of the attacker is accepted.

const annotationPrefix = "alb.ingress.kubernetes.io/"

// maxRuleRemovalTime is how long a rule may remain after its Ingress was changed or deleted.
const maxRuleRemovalTime = 2 * time.Minute

var validGroupName = regexp.MustCompile(`^([a-z0-9][-a-z0-9.]*)?[a-z0-9]$`)

// acceptingStack returns the victims' stack of which an Ingress of the attacker is an accepted member, or "" if there is
// none.
func (a *attackerRights) acceptingStack(ing *networkingv1.Ingress) string {
	group, named := ing.Annotations[annotationPrefix+"group.name"]
	if class, ok := ing.Annotations["kubernetes.io/ingress.class"]; ok {
		if a.access == shutOut || class != "alb" {
			return ""
		}
	} else {
		switch name := ing.Spec.IngressClassName; {
		case name != nil && *name == "alb" && a.access != shutOut:
		case name != nil && *name == attackerClass, name == nil && a.isDefaultClass(attackerClass):
			pinned, ok := a.ownClassAdmits()
			if !ok {
				return ""
			}
			if pinned != "" {
				group, named = pinned, true
			}
		default:
			return ""
		}
	}
	if order, ok := ing.Annotations[annotationPrefix+"group.order"]; ok {
		if n, err := strconv.Atoi(order); err != nil || n < -1000 || n > 1000 {
			return "" // it keeps its existing rules
		}
	}
	if !named || len(group) > 63 || !validGroupName.MatchString(group) {
		return ""
	}
	if _, theirs := statusObjectOfStack[group]; theirs && group != "solo" {
		return group
	}
	return ""
}

func (a *attackerRights) isDefaultClass(class string) bool {
	obj, err := a.store.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: class})
	return err == nil && obj != nil && obj.GetAnnotations()["ingressclass.kubernetes.io/is-default-class"] == "true"
}

// ownClassAdmits reports whether the attacker's own class admits its namespace, and returns the IngressGroup that the
// class names.
func (a *attackerRights) ownClassAdmits() (group string, ok bool) {
	obj, err := a.store.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: attackerClass})
	class, there := obj.(*networkingv1.IngressClass)
	if err != nil || !there || class.Spec.Controller != "ingress.k8s.aws/alb" {
		return "", false
	}
	ref := class.Spec.Parameters
	if ref == nil {
		return "", true
	}
	obj, err = a.store.Get(cluster.Ref{Kind: cluster.KindIngressClassParams, Name: ref.Name})
	params, there := obj.(*elbv2.IngressClassParams)
	if err != nil || !there || ref.Kind != "IngressClassParams" {
		return "", false
	}
	if s := params.Spec.NamespaceSelector; s != nil {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil || !selector.Matches(labels.Set{corev1.LabelMetadataName: attackerNamespace}) {
			return "", false
		}
	}
	if params.Spec.Group != nil {
		group = params.Spec.Group.Name
	}
	return group, true
}

// mayAnswer reports whether an accepted Ingress of the attacker may answer a request of a victim's client. It may do so if
// it precedes the victim by group.order, or if no rule of a victim matches the request.
func (a *attackerRights) mayAnswer(r request, got, want answer) bool {
	return len(a.entitledIngresses(r, got, want)) > 0
}

// entitledIngresses returns the Ingresses of the attacker that may answer a request with got. want is the answer without the
// attacker.
func (a *attackerRights) entitledIngresses(r request, got, want answer) []*networkingv1.Ingress {
	if a.isolated && !(want.isDefault && a.isHostReleased(r)) || strings.Contains(got.text, "forward to pay/") || strings.Contains(got.text, "forward to blog/") {
		return nil
	}
	var out []*networkingv1.Ingress
	now := time.Now()
	for _, m := range a.memberships {
		if m.stack != r.stack || now.After(a.effectEnd(m)) {
			continue
		}
		if want.isDefault && m.ing.Spec.DefaultBackend != nil || (want.isDefault || isBeforeVictim(m.ing, r)) && hasRuleFor(m.ing, r, got, want) {
			out = append(out, m.ing)
		}
	}
	return out
}

// hasRuleFor reports whether a rule of an Ingress may match a request.
func hasRuleFor(ing *networkingv1.Ingress, r request, got, want answer) bool {
	for _, rule := range ing.Spec.Rules {
		if rule.HTTP == nil || !hostMatches(ing, rule.Host, r.host) {
			continue
		}
		for _, p := range rule.HTTP.Paths {
			if got.text == heldAnswer && !want.isDefault && isVictimsRoute(ing, rule.Host, p, r) {
				continue // of two rules with the same conditions the held one never answers for the other
			}
			if pathMatches(ing, p, r.path) {
				return true
			}
		}
	}
	return false
}

// isHostReleased reports whether the victim that had a host has deleted its Ingress, so that in isolated tenancy the host
// belongs to the first member that uses it afterwards.
func (a *attackerRights) isHostReleased(r request) bool {
	namespace, name, _ := strings.Cut(r.owner, "/")
	obj, err := a.store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: name})
	return err == nil && (obj == nil || obj.GetDeletionTimestamp() != nil)
}

// effectEnd returns the time until which a version of an Ingress may have an effect: maxRuleRemovalTime after the next
// accepted version has replaced it. If no later version is accepted, the Ingress keeps its existing rules. The time is then
// maxRuleRemovalTime after its deletion, or now if it is not deleted.
func (a *attackerRights) effectEnd(m membership) time.Time {
	if m.until.IsZero() {
		return time.Now()
	}
	last, later := m, false
	for _, o := range a.memberships { // in order of creation
		if o == m {
			later = true
			continue
		}
		if !later || cluster.RefOf(o.ing) != cluster.RefOf(m.ing) {
			continue
		}
		if o.stack != "" {
			return o.from.Add(maxRuleRemovalTime)
		}
		last = o
	}
	if last.until.IsZero() {
		return time.Now()
	}
	return last.until.Add(maxRuleRemovalTime)
}

// isBeforeVictim reports whether an Ingress of the attacker precedes the Ingress of a request's rule.
func isBeforeVictim(ing *networkingv1.Ingress, r request) bool {
	order := 0
	if raw, ok := ing.Annotations[annotationPrefix+"group.order"]; ok {
		n, err := strconv.Atoi(raw)
		if err != nil || n < -1000 || n > 1000 {
			return false
		}
		order = n
	}
	return order < r.order || order == r.order && ing.Namespace+"/"+ing.Name < r.owner
}

func hostMatches(ing *networkingv1.Ingress, pattern, host string) bool {
	if ok, err := path.Match(pattern, host); pattern == "" || err == nil && ok {
		return true
	}
	for key, value := range ing.Annotations { // conditions may name further hosts
		if strings.HasPrefix(key, annotationPrefix+"conditions.") && (strings.Contains(value, host) || strings.Contains(value, "*") || strings.Contains(value, "regex")) {
			return true
		}
	}
	return false
}

func pathMatches(ing *networkingv1.Ingress, p networkingv1.HTTPIngressPath, requested string) bool {
	kind := networkingv1.PathTypeImplementationSpecific
	if p.PathType != nil {
		kind = *p.PathType
	}
	for key := range ing.Annotations { // conditions may name further paths
		if strings.HasPrefix(key, annotationPrefix+"conditions.") {
			return true
		}
	}
	switch kind {
	case networkingv1.PathTypeExact:
		return p.Path == requested
	case networkingv1.PathTypePrefix:
		prefix := strings.TrimSuffix(p.Path, "/")
		return prefix == "" || requested == prefix || strings.HasPrefix(requested, prefix+"/")
	}
	if ing.Annotations[annotationPrefix+"use-regex-path-match"] == "true" || p.Path == "" {
		return true
	}
	glob := regexp.QuoteMeta(p.Path)
	glob = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(glob)
	ok, err := regexp.MatchString("^"+glob+"$", requested)
	return err == nil && ok
}

// makeTargetsUnhealthy makes the attacker's targets unhealthy, if the history includes that.
func (w *testCluster) makeTargetsUnhealthy() {
	if w.isTargetUnhealthy == nil {
		return
	}
	p, unlock := w.partition()
	defer unlock()
	for _, g := range p.ELB.TargetGroups {
		if belongsToVictims(g) {
			continue
		}
		for _, t := range g.Targets {
			if t.Verdict == nil && w.isTargetUnhealthy(t.ID) {
				t.Verdict = &emulated.TargetHealthResult{State: elbtypes.TargetHealthStateEnumUnhealthy, Reason: elbtypes.TargetHealthReasonEnumFailedHealthChecks}
				t.VerdictChanged = time.Now()
			}
		}
	}
}
