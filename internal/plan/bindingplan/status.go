package bindingplan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// ready is the type of the condition that bindings have.
const ready = "Ready"

// status plans the Ready condition: true without a reason, false with one. With observed, the
// generation counts as done.
func (r *reporter) status(reason string, observed bool) {
	b := r.Stored
	c := metav1.Condition{
		Type: ready, Status: metav1.ConditionTrue, Reason: reasonReconciled, Message: "Successfully reconciled",
		ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(r.Now.Truncate(1e9)),
	}
	if reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, text(r.Findings)
	}
	s := SetStatus{}
	conditions, changed := withCondition(b.Status.Conditions, c)
	if seen := b.Status.ObservedGeneration; observed && (seen == nil || *seen != b.Generation) {
		s.Observed = &b.Generation
		changed = true
	}
	if !changed {
		return
	}
	if s.OnlyText = s.Observed == nil && sameFault(b.Status.Conditions, c); s.OnlyText && r.Now.Sub(r.Memory.TextReported) < durations.DeniedWait {
		// Each write triggers another run, so that two texts which take turns would go on for ever.
		return
	}
	s.Conditions = conditions
	r.do(s)
}

// sameFault reports whether a condition differs from the present one in nothing but its text.
func sameFault(list []metav1.Condition, c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && slices.ContainsFunc(list, func(o metav1.Condition) bool {
		return o.Type == c.Type && o.Status == c.Status && o.Reason == c.Reason && o.ObservedGeneration == c.ObservedGeneration
	})
}

// withCondition returns the list with one condition set, and whether that changes it.
func withCondition(list []metav1.Condition, c metav1.Condition) ([]metav1.Condition, bool) {
	out := slices.Clone(list)
	i := slices.IndexFunc(out, func(o metav1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		return append(out, c), true
	}
	old := out[i]
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	out[i] = c
	return out, old != c
}

// requestID is what differs in the answers of AWS to the same call.
var requestID = regexp.MustCompile(`(?i)(, )?request ?id: ?[0-9a-f-]{8,}`)

// maxMessage is the limit of a condition's message, in bytes.
const maxMessage = 32768

// text of the first error, for a condition.
func text(l finding.List) string {
	if f, ok := firstError(l); ok {
		return stableMessage(string(f.Reason) + ": " + f.Text())
	}
	return "see the events"
}

func firstError(l finding.List) (finding.Finding, bool) {
	i := slices.IndexFunc(l, func(f finding.Finding) bool { return f.Severity == finding.Error })
	if i < 0 {
		return finding.Finding{}, false
	}
	return l[i], true
}

// stableMessage makes a message the same for the same fault, since every write of a status brings another
// run about.
func stableMessage(s string) string {
	s = requestID.ReplaceAllString(s, "")
	return strings.ToValidUTF8(s[:min(len(s), maxMessage)], "")
}

// events returns the events of findings, under the reason of the run for those about the binding, and of
// success when something has changed and no call waits, after which something will have.
func (r *reporter) events(found finding.List, reason string) WriteEvents {
	return r.Facts.events(found, reason, r.done.Changed && !r.Waiting)
}

func (p *planner) events(found finding.List, reason string) WriteEvents {
	return p.Facts.events(found, reason, false)
}

// Event returns the event of a finding, under its own reason unless one is given.
func Event(x finding.Finding, reason string) cluster.Event {
	return cluster.Event{
		Ref:     cluster.Ref{Kind: cluster.Kind(x.Object.Kind), Namespace: x.Object.Namespace, Name: x.Object.Name},
		Warning: true, Fault: x.Severity == finding.Error, Reason: cmp.Or(reason, string(x.Reason)), Message: string(x.Reason) + ": " + x.Text(),
	}
}

func (f *Facts) events(found finding.List, reason string, changed bool) WriteEvents {
	var out []cluster.Patch
	for _, x := range found.Sorted() {
		r := reason
		if x.Object != targets.Ref(f.Stored) || x.Severity != finding.Error {
			r = ""
		}
		out = append(out, Event(x, r))
	}
	if reason == "" && changed {
		out = append(out, cluster.Event{Ref: cluster.RefOf(f.Stored), Reason: reasonReconciled, Message: "Successfully reconciled"})
	}
	return WriteEvents{append(out, lastingWarnings(f.Key))}
}

// lastingWarnings reports that the warnings it comes with last, and no others of the binding, so that their events
// are raised before the API server drops them.
func lastingWarnings(key Key) cluster.Lasting {
	return cluster.Lasting{Of: "TargetGroupBinding " + key.String()}
}
