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

// Bounds of the warnings of the controller. Users with the right to write events can write any number of them.
const (
	// maxReportedWarnings is the maximum number of warnings that are shown.
	maxReportedWarnings = 200
	// maxWarningsOfObject is the maximum number of warnings that are stored for one object. Each has another reason.
	maxWarningsOfObject = 4
	// maxReportedObjects is the maximum number of objects for which warnings are stored.
	maxReportedObjects = 5000
)

// reportedWarnings are the latest warnings in the events of the controller, one for each object and reason. A warning is
// omitted if the object was reconciled afterwards, unless the warning reports a change.
type reportedWarnings struct {
	Events []warning `json:"events"`
	// More is the number of warnings that are not in Events.
	More int `json:"more,omitempty"`
	// Failed is the reason why events could not be read.
	Failed string `json:"failed,omitempty"`
	// Partial reports whether the cluster has more events than were read.
	Partial bool `json:"partial,omitempty"`
}

// warning is the last event with a reason about an object.
type warning struct {
	// Severity is error for the reasons of aws-load-balancer-controller that begin with Failed, else warning or info.
	Severity string        `json:"severity"`
	Object   output.Object `json:"object"`
	At       time.Time     `json:"at"`
	Count    int32         `json:"count,omitempty"`
	By       string        `json:"by"`
	Reason   string        `json:"reason"`
	// Finding is the reason of the finding that the event reports, if it reports one.
	Finding string `json:"finding,omitempty"`
	Message string `json:"message"`
	// Past reports whether the last refresh does not find the problem any more. The severity is then info, except for drift.
	Past bool `json:"past,omitempty"`
}

// changeReasons are the reasons of findings about changes in AWS. Their events are shown also after the object was reconciled.
var changeReasons = []finding.Reason{
	finding.DriftRepaired, finding.LoadBalancerReplaced, finding.LoadBalancerMoved, finding.LoadBalancerAdopted, finding.LoadBalancerReturned,
}

// isOfChange reports whether the warning is about a change that the controller or an external actor has made.
func (w warning) isOfChange() bool { return slices.Contains(changeReasons, finding.Reason(w.Finding)) }

// isObservable reports whether a refresh can find the problem of the warning. A refresh does not find changes that AWS
// refuses, because it changes nothing, and cannot measure how long a step has waited.
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

// objectReports has the warnings and the last success that events have reported about one object.
type objectReports struct {
	warnings    []warning
	lastSuccess time.Time // when the object was reconciled last
}

// lastEventTime returns the time of the last event.
func (h *objectReports) lastEventTime() time.Time {
	at := h.lastSuccess
	for _, w := range h.warnings {
		if w.At.After(at) {
			at = w.At
		}
	}
	return at
}

// reports stores the warnings and successes that events have reported. Only one goroutine may use it.
type reports struct {
	now         func() time.Time
	byObject    map[reportedObject]*objectReports
	readFailure string
	isPartial   bool
}

// findingReason matches the beginning of the message of an event about a finding: the reason of the finding.
var findingReason = regexp.MustCompile(`^([A-Z][A-Za-z0-9]{2,60}): `)

// recordList records a list of the events that a cluster stores. complete reports whether the list has all of them.
func (r *reports) recordList(list []input.Event, complete bool) {
	for _, e := range list {
		r.recordEvent(e)
	}
	r.readFailure, r.isPartial = "", !complete
}

// setUnavailable records why events cannot be read.
func (r *reports) setUnavailable(err error) {
	r.readFailure = finding.Printable("events cannot be read: " + err.Error())
}

// recordEvent records an event if it is a warning or a success of the controller.
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

// addWarning adds a warning. It stores the last warning of each reason, at most maxWarningsOfObject.
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

// isExpired reports whether an event is so old that API servers have deleted it.
func (r *reports) isExpired(at time.Time) bool { return r.now().Sub(at) >= durations.EventRetention }

// removeOldest removes the objects whose events have expired, and then the older half of the objects if there are still
// maxReportedObjects.
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

// lastingWarnings returns the warnings that report a change, or whose object was not reconciled after them. The result is
// immutable.
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

// lastingWarnings are the warnings that applied at one time, by object.
type lastingWarnings struct {
	byObject    map[reportedObject][]warning
	readFailure string
	isPartial   bool
}

// reportedFor returns the warnings about objects that exist. current is the document of the last refresh, nil if the refresh
// failed.
func (l lastingWarnings) reportedFor(uidOf func(output.Object) (string, bool), current *tree.Document) reportedWarnings {
	out := reportedWarnings{Events: []warning{}, Failed: l.readFailure, Partial: l.isPartial}
	// A finding about a Service or a route applies to each member of its stack.
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

// severityRank returns the order of a severity, 0 for error.
func severityRank(severity string) int {
	return slices.Index([]string{"error", "warning", "info"}, severity)
}
