package console

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// The limits for warnings from events. Users with permission to create events can create any number of them.
const (
	// maxReportedWarnings is the maximum number of warnings that are shown.
	maxReportedWarnings = 200
	// maxWarningsOfObject is the maximum number of warnings, with different reasons, that are stored for one object.
	maxWarningsOfObject = 4
	// maxReportedObjects is the maximum number of objects for which warnings are stored.
	maxReportedObjects = 5000
)

// reportedWarnings has the latest warning event of the controller for each object and reason. It omits a warning if the
// object was reconciled after the event, unless the warning is about a change in AWS.
type reportedWarnings struct {
	Events []warning `json:"events"`
	// More is the number of warnings beyond maxReportedWarnings, which are not in Events.
	More int `json:"more,omitempty"`
	// Failed is the reason why events could not be read.
	Failed string `json:"failed,omitempty"`
	// Partial reports whether some events were not read or not stored.
	Partial bool `json:"partial,omitempty"`
}

// warning is the latest warning event with a reason about an object.
type warning struct {
	// Severity is error if Reason begins with "Failed", and warning for any other Reason. If Past is true, it is info,
	// except for drift.
	Severity string        `json:"severity"`
	Object   output.Object `json:"object"`
	At       time.Time     `json:"at"`
	Count    int32         `json:"count,omitempty"`
	By       string        `json:"by"`
	Reason   string        `json:"reason"`
	// Finding is the reason of the finding that the event reports. It is missing if the event reports no finding.
	Finding string `json:"finding,omitempty"`
	Message string `json:"message"`
	// Past reports whether the problem no longer exists, according to the last refresh.
	Past bool `json:"past,omitempty"`
}

// changeReasons are the reasons of findings about changes in AWS. Their events are also shown after the object was
// reconciled.
var changeReasons = []finding.Reason{
	finding.DriftRepaired, finding.LoadBalancerReplaced, finding.LoadBalancerMoved, finding.LoadBalancerAdopted, finding.LoadBalancerReturned,
}

// isOfChange reports whether the warning is about a change that the controller or an external actor has made in AWS.
func (w warning) isOfChange() bool { return slices.Contains(changeReasons, finding.Reason(w.Finding)) }

// isObservable reports whether a refresh can determine that the problem of the warning no longer exists. A refresh makes no
// changes, so it cannot find that AWS refuses a change. It also cannot measure how long a step has waited.
func (w warning) isObservable() bool {
	subject := finding.SubjectOf(finding.Reason(w.Finding))
	return w.isOfChange() || subject != "" && !slices.ContainsFunc([]finding.Reason{finding.AccessDenied, finding.WaitExpired, finding.MoreFindings}, func(r finding.Reason) bool {
		return subject == finding.SubjectOf(r)
	})
}

// reportedObject is the object of an event, with its UID.
type reportedObject struct {
	output.Object
	uid string
}

// objectReports has what events have reported about one object.
type objectReports struct {
	warnings    []warning // newest first
	lastSuccess time.Time // when the object was last reconciled
}

// lastEventTime returns the time of the latest event about the object.
func (h *objectReports) lastEventTime() time.Time {
	at := h.lastSuccess
	for _, w := range h.warnings {
		if w.At.After(at) {
			at = w.At
		}
	}
	return at
}

// reports stores the warnings and the successful reconciliations that events have reported. Only one goroutine may use it.
type reports struct {
	now         func() time.Time
	byObject    map[reportedObject]*objectReports
	readFailure string
	isPartial   bool
}

// findingReason matches the reason of a finding at the beginning of an event message.
var findingReason = regexp.MustCompile(`^([A-Z][A-Za-z0-9]{2,60}): `)

// recordList records events that were listed from the cluster. complete reports whether the list has all events.
func (r *reports) recordList(list []input.Event, complete bool) {
	for _, e := range list {
		r.recordEvent(e)
	}
	r.readFailure, r.isPartial = "", !complete
}

// setUnavailable records that events cannot be read, with the reason.
func (r *reports) setUnavailable(err error) {
	r.readFailure = finding.EscapeNonPrintable("events cannot be read: " + err.Error())
}

// recordEvent records an event of the controller if it is a warning or reports a successful reconciliation.
func (r *reports) recordEvent(e input.Event) {
	if !e.IsOfController() || !e.Warning && !e.IsReconciled() {
		return
	}
	if r.isExpired(e.Time) {
		return
	}
	object := reportedObject{output.Object{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}, e.UID}
	reported := r.byObject[object]
	if reported == nil {
		if len(r.byObject) >= maxReportedObjects {
			r.removeOldest()
		}
		reported = &objectReports{}
		if r.byObject == nil {
			r.byObject = map[reportedObject]*objectReports{}
		}
		r.byObject[object] = reported
	}
	if !e.Warning {
		if e.Time.After(reported.lastSuccess) {
			reported.lastSuccess = e.Time
		}
		return
	}
	w := warning{Severity: "warning", Object: object.Object, At: e.Time, Count: e.Count, By: e.Component, Reason: e.Reason, Message: e.Message}
	if strings.HasPrefix(e.Reason, "Failed") {
		w.Severity = "error"
	}
	if m := findingReason.FindStringSubmatch(e.Message); m != nil {
		w.Finding = m[1]
	}
	reported.addWarning(w)
}

// addWarning adds a warning. It replaces an older warning with the same reason, and stores at most maxWarningsOfObject
// warnings.
func (h *objectReports) addWarning(w warning) {
	index := slices.IndexFunc(h.warnings, func(o warning) bool { return o.Reason == w.Reason && o.Finding == w.Finding })
	switch {
	case index < 0:
		h.warnings = append(h.warnings, w)
	case w.At.Before(h.warnings[index].At):
		return
	default:
		h.warnings[index] = w
	}
	slices.SortStableFunc(h.warnings, func(a, b warning) int { return b.At.Compare(a.At) })
	h.warnings = h.warnings[:min(len(h.warnings), maxWarningsOfObject)]
}

// isExpired reports whether an event with the given time is so old that API servers have deleted the event.
func (r *reports) isExpired(at time.Time) bool { return r.now().Sub(at) >= durations.EventRetention }

// removeOldest removes the objects whose events have expired. If there are still maxReportedObjects objects, it also removes
// the half of them with the oldest events.
func (r *reports) removeOldest() {
	var ages []time.Time
	for object, reported := range r.byObject {
		if at := reported.lastEventTime(); r.isExpired(at) {
			delete(r.byObject, object)
		} else {
			ages = append(ages, at)
		}
	}
	if len(r.byObject) < maxReportedObjects {
		return
	}
	slices.SortFunc(ages, time.Time.Compare)
	middle := ages[len(ages)/2]
	for object, reported := range r.byObject {
		if len(r.byObject) > maxReportedObjects/2 && !reported.lastEventTime().After(middle) {
			delete(r.byObject, object)
		}
	}
	r.isPartial = true
}

// lastingWarnings returns the warnings that have not expired and that are about a change in AWS, or whose object was not
// reconciled afterwards. The result does not change when more events are recorded.
func (r *reports) lastingWarnings() lastingWarnings {
	out := lastingWarnings{byObject: map[reportedObject][]warning{}, readFailure: r.readFailure, isPartial: r.isPartial}
	for object, reported := range r.byObject {
		for _, w := range reported.warnings {
			if !r.isExpired(w.At) && (w.isOfChange() || !reported.lastSuccess.After(w.At)) {
				out.byObject[object] = append(out.byObject[object], w)
			}
		}
	}
	return out
}

// lastingWarnings has the warnings that the method reports.lastingWarnings returned, by object.
type lastingWarnings struct {
	byObject    map[reportedObject][]warning
	readFailure string
	isPartial   bool
}

// reportedFor returns the warnings about objects that exist according to uidOf, errors first. current is the document of
// the last refresh, or nil if the refresh failed; it determines the field Past of each warning.
func (l lastingWarnings) reportedFor(uidOf func(output.Object) (string, bool), current *tree.Document) reportedWarnings {
	out := reportedWarnings{Events: []warning{}, Failed: l.readFailure, Partial: l.isPartial}
	// A finding about a Service or a route counts as a finding about each member of the stack.
	found, members := map[output.Object][]finding.Reason{}, map[output.Object]bool{}
	if current != nil {
		for _, s := range current.Stacks {
			for _, m := range s.Members {
				members[m] = true
				for _, f := range s.Findings {
					found[m] = append(found[m], f.Reason)
				}
			}
		}
	}
	for object, warnings := range l.byObject {
		if uid, exists := uidOf(object.Object); exists && (uid == "" || object.uid == "" || uid == object.uid) {
			for _, w := range warnings {
				reason := finding.Reason(w.Finding)
				w.Past = members[w.Object] && w.isObservable() && !slices.Contains(found[w.Object], reason)
				if w.Past && reason != finding.DriftRepaired {
					w.Severity = "info"
				}
				out.Events = append(out.Events, w)
			}
		}
	}
	slices.SortFunc(out.Events, func(a, b warning) int {
		return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), b.At.Compare(a.At), finding.Ref(a.Object).Compare(finding.Ref(b.Object)), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Finding, b.Finding), cmp.Compare(a.Message, b.Message))
	})
	if n := len(out.Events); n > maxReportedWarnings {
		out.Events, out.More = out.Events[:maxReportedWarnings], n-maxReportedWarnings
	}
	return out
}

// severityRank returns the position of a severity in the order error, warning, info.
func severityRank(severity string) int {
	return slices.Index([]string{"error", "warning", "info"}, severity)
}
