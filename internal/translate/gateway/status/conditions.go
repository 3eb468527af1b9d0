package status

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// maxMessage is the maximum length of the message of a condition, in characters. The API server accepts at most 32768.
const maxMessage = 32700

// newCondition returns a condition. It escapes characters in the message that are not printable, because they may come from
// values of users, and cuts a message that is too long.
func newCondition[T, R ~string](of T, status metav1.ConditionStatus, reason R, message string, generation int64) metav1.Condition {
	message = finding.Truncate(finding.EscapeNonPrintable(message), maxMessage)
	return metav1.Condition{Type: string(of), Status: status, Reason: string(reason), Message: message, ObservedGeneration: generation}
}

// mergeConditions returns the conditions in want, followed by the conditions of other types in have. A condition whose
// status does not change keeps its transition time; other conditions get the time now. PartiallyInvalid is removed unless it
// is in want, because the Gateway API does not permit status False for it.
func mergeConditions(have, want []metav1.Condition, now metav1.Time) []metav1.Condition {
	out := slices.Clone(want)
	for i := range out {
		out[i].LastTransitionTime = now
	}
	for _, h := range have {
		i := slices.IndexFunc(out, func(w metav1.Condition) bool { return w.Type == h.Type })
		switch {
		case i < 0 && h.Type == string(gwv1.RouteConditionPartiallyInvalid):
		case i < 0:
			out = append(out, h)
		case out[i].Status == h.Status:
			out[i].LastTransitionTime = h.LastTransitionTime
		}
	}
	return out
}

// sameConditions reports whether conditions are equal, except for their order and times.
func sameConditions(a, b []metav1.Condition) bool {
	return equality.Semantic.DeepEqual(withoutTransitionTimes(a), withoutTransitionTimes(b))
}

func withoutTransitionTimes(all []metav1.Condition) []metav1.Condition {
	out := slices.Clone(all)
	for i := range out {
		out[i].LastTransitionTime = metav1.Time{}
	}
	slices.SortFunc(out, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return out
}

// mergeListeners returns the entries in want with the transition times of the entries in have, and reports whether the two
// lists differ. The order of entries, and of kinds in an entry, does not matter.
func mergeListeners(have, want []gwv1.ListenerStatus, now metav1.Time) (out []gwv1.ListenerStatus, differ bool) {
	differ = len(have) != len(want)
	for _, w := range want {
		w.SupportedKinds = slices.Clone(w.SupportedKinds)
		i := slices.IndexFunc(have, func(h gwv1.ListenerStatus) bool { return h.Name == w.Name })
		if i < 0 {
			differ = true
			w.Conditions = mergeConditions(nil, w.Conditions, now)
		} else {
			h := have[i]
			w.Conditions = mergeConditions(h.Conditions, w.Conditions, now)
			differ = differ || h.AttachedRoutes != w.AttachedRoutes || !sameConditions(h.Conditions, w.Conditions) || !sameKinds(h.SupportedKinds, w.SupportedKinds)
		}
		out = append(out, w)
	}
	return out, differ
}

func sameKinds(a, b []gwv1.RouteGroupKind) bool {
	names := func(all []gwv1.RouteGroupKind) []string {
		var out []string
		for _, k := range all {
			group := gwv1.Group(gwv1.GroupName)
			if k.Group != nil {
				group = *k.Group
			}
			out = append(out, string(group)+"/"+string(k.Kind))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(names(a), names(b))
}
