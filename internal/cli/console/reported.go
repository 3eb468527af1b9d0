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

// Bounds of the warnings of the controller. Whoever may write events can write any number of them.
const (
	// mostReported are shown.
	mostReported = 200
	// mostOfObject are kept of one object, each with another reason.
	mostOfObject = 4
	// mostReportedObjects have warnings that are kept.
	mostReportedObjects = 5000
)

// reported is what the controller has written in events, which outlive the moment: the last warning of each object and
// reason, as far as no success came after it, or that reports a change.
type reported struct {
	Events []warning `json:"events"`
	// More is how many are not among Events.
	More int `json:"more,omitempty"`
	// Failed is why events cannot be read, and Partial is set if there are more than were read.
	Failed  string `json:"failed,omitempty"`
	Partial bool   `json:"partial,omitempty"`
}

// warning is the last event with a reason about an object.
type warning struct {
	// Severity is error for a reason that older controllers have for what they could not do.
	Severity string        `json:"severity"`
	Object   output.Object `json:"object"`
	At       time.Time     `json:"at"`
	Count    int32         `json:"count,omitempty"`
	By       string        `json:"by"`
	Reason   string        `json:"reason"`
	// Finding is the reason of the finding that it reports, which findings of the same object have too.
	Finding string `json:"finding,omitempty"`
	Message string `json:"message"`
	// Past: the last look does not find it any more. It is then an info, but for what others have changed.
	Past bool `json:"past,omitempty"`
}

// changed are the findings about what was done, of which an event is worth reading also after it has succeeded.
var changed = []finding.Reason{
	finding.DriftRepaired, finding.LoadBalancerReplaced, finding.LoadBalancerMoved, finding.LoadBalancerAdopted, finding.LoadBalancerReturned,
}

// ofChange reports whether the warning is about a change that the controller, or another actor, has made.
func (w warning) ofChange() bool { return slices.Contains(changed, finding.Reason(w.Finding)) }

// isObservable reports whether looks find by themselves what the warning is about. They do not call what AWS refuses,
// and do not remember how long something waits.
func (w warning) isObservable() bool {
	subject := finding.SubjectOf(finding.Reason(w.Finding))
	return w.ofChange() || subject != "" && !slices.ContainsFunc([]finding.Reason{finding.AccessDenied, finding.WaitExpired, finding.MoreFindings}, func(r finding.Reason) bool {
		return subject == finding.SubjectOf(r)
	})
}

// object is what events are about.
type object struct {
	output.Object
	uid string
}

// history is what was reported of an object.
type history struct {
	warnings   []warning
	reconciled time.Time // last
}

// newest returns when something was reported last.
func (h *history) newest() time.Time {
	at := h.reconciled
	for _, w := range h.warnings {
		if w.At.After(at) {
			at = w.At
		}
	}
	return at
}

// reports keeps what events have reported. One goroutine uses it.
type reports struct {
	now     func() time.Time
	of      map[object]*history
	failed  string
	partial bool
}

// findingReason begins the messages of events about findings.
var findingReason = regexp.MustCompile(`^([A-Z][A-Za-z0-9]{2,60}): `)

// listed takes the events that a cluster has.
func (r *reports) listed(list []input.Event, complete bool) {
	for _, e := range list {
		r.take(e)
	}
	r.failed, r.partial = "", !complete
}

// setUnavailable notes why events are not read.
func (r *reports) setUnavailable(err error) {
	r.failed = finding.Printable("events cannot be read: " + err.Error())
}

// take handles one event.
func (r *reports) take(e input.Event) {
	if !e.IsOfController() || !e.Warning && !e.IsReconciled() {
		return
	}
	if r.isExpired(e.Time) {
		return
	}
	of := object{output.Object{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}, e.UID}
	h := r.of[of]
	if h == nil {
		if len(r.of) >= mostReportedObjects {
			r.forget()
		}
		h = &history{}
		if r.of == nil {
			r.of = map[object]*history{}
		}
		r.of[of] = h
	}
	if !e.Warning {
		if e.Time.After(h.reconciled) {
			h.reconciled = e.Time
		}
		return
	}
	w := warning{Severity: "warning", Object: of.Object, At: e.Time, Count: e.Count, By: e.Component, Reason: e.Reason, Message: e.Message}
	if strings.HasPrefix(e.Reason, "Failed") {
		w.Severity = "error"
	}
	if m := findingReason.FindStringSubmatch(e.Message); m != nil {
		w.Finding = m[1]
	}
	h.add(w)
}

// add keeps the last warning of each reason, of the latest reasons.
func (h *history) add(w warning) {
	at := slices.IndexFunc(h.warnings, func(o warning) bool { return o.Reason == w.Reason && o.Finding == w.Finding })
	switch {
	case at < 0:
		h.warnings = append(h.warnings, w)
	case w.At.Before(h.warnings[at].At):
		return
	default:
		h.warnings[at] = w
	}
	slices.SortStableFunc(h.warnings, func(a, b warning) int { return b.At.Compare(a.At) })
	h.warnings = h.warnings[:min(len(h.warnings), mostOfObject)]
}

// isExpired reports whether an event is older than API servers keep one.
func (r *reports) isExpired(at time.Time) bool { return r.now().Sub(at) >= durations.EventKept }

// forget removes what is over, and the older half if there is no room then.
func (r *reports) forget() {
	var ages []time.Time
	for of, h := range r.of {
		if at := h.newest(); r.isExpired(at) {
			delete(r.of, of)
		} else {
			ages = append(ages, at)
		}
	}
	if len(r.of) < mostReportedObjects {
		return
	}
	slices.SortFunc(ages, time.Time.Compare)
	middle := ages[len(ages)/2]
	for of, h := range r.of {
		if len(r.of) > mostReportedObjects/2 && !h.newest().After(middle) {
			delete(r.of, of)
		}
	}
	r.partial = true
}

// lastingWarnings returns the warnings that no success came after, or that report a change, by object. They are not
// changed any more.
func (r *reports) lastingWarnings() lasting {
	out := lasting{of: map[object][]warning{}, failed: r.failed, partial: r.partial}
	for of, h := range r.of {
		for _, w := range h.warnings {
			if !r.isExpired(w.At) && (w.ofChange() || !h.reconciled.After(w.At)) {
				out.of[of] = append(out.of[of], w)
			}
		}
	}
	return out
}

// lasting is what lasted at one time.
type lasting struct {
	of      map[object][]warning
	failed  string
	partial bool
}

// ofExistingObjects returns the warnings about objects that are there, as the last look finds them; nil: it has failed.
func (l lasting) ofExistingObjects(uidOf func(output.Object) (string, bool), look *tree.Document) reported {
	out := reported{Events: []warning{}, Failed: l.failed, Partial: l.partial}
	// What is found of a Service or a route is reported of the members of its load balancer too.
	found, members := map[output.Object][]finding.Reason{}, map[output.Object]bool{}
	if look != nil {
		for _, s := range look.Stacks {
			for _, m := range s.Members {
				members[m] = true
				for _, f := range s.Findings {
					found[m] = append(found[m], f.Reason)
				}
			}
		}
	}
	for of, all := range l.of {
		if uid, there := uidOf(of.Object); there && (uid == "" || of.uid == "" || uid == of.uid) {
			for _, w := range all {
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
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), b.At.Compare(a.At), finding.Ref(a.Object).Compare(finding.Ref(b.Object)), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Finding, b.Finding), cmp.Compare(a.Message, b.Message))
	})
	if n := len(out.Events); n > mostReported {
		out.Events, out.More = out.Events[:mostReported], n-mostReported
	}
	return out
}

// rank returns the place of a severity, the worst first.
func rank(severity string) int { return slices.Index([]string{"error", "warning", "info"}, severity) }
