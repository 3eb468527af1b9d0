package bindings

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// ready is the type of the condition that bindings have.
const ready = "Ready"

// Reasons of events and of the Ready condition. They are known to tools.
const (
	reasonReconciled      = "SuccessfullyReconciled"
	reasonFailedReconcile = "FailedReconcile"
	reasonFailedNetwork   = "FailedNetworkReconcile"
	reasonFailedCleanup   = "FailedCleanup"
	reasonBackendNotFound = "BackendNotFound"
)

// report writes the Ready condition: true without a reason, false with one. With observed, the
// generation counts as done.
func (p *pass) report(ctx context.Context, reason string, observed bool) error {
	c := metav1.Condition{
		Type: ready, Status: metav1.ConditionTrue, Reason: reasonReconciled, Message: "Successfully reconciled",
		ObservedGeneration: p.b.Generation, LastTransitionTime: metav1.NewTime(p.r.Now().Truncate(1e9)),
	}
	if reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, text(p.out.Findings)
	}
	s := SetStatus{Binding: p.key}
	conditions, changed := withCondition(p.b.Status.Conditions, c)
	if seen := p.b.Status.ObservedGeneration; observed && (seen == nil || *seen != p.b.Generation) {
		s.ObservedGeneration = &p.b.Generation
		changed = true
	}
	if !changed || s.ObservedGeneration == nil && sameFault(p.b.Status.Conditions, c) && !p.r.mayReword(p.key) {
		return nil
	}
	s.Conditions = conditions
	start := p.r.Now()
	err := p.r.change(ctx, s)
	p.r.phase("report", start)
	if err != nil {
		return p.note(ctx, fmt.Errorf("write status: %w", err), "FailedUpdateStatus", "Failed update status due to ")
	}
	return nil
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
		return steady(string(f.Reason) + ": " + f.Text())
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

// steady makes a message the same for the same fault, since every write of a status brings another
// run about.
func steady(s string) string {
	s = requestID.ReplaceAllString(s, "")
	return strings.ToValidUTF8(s[:min(len(s), maxMessage)], "")
}

// events tells of findings, under the reason of the run for those about the binding, and of
// success when something has changed.
func (p *pass) events(ctx context.Context, reason string) error {
	var out []cluster.Patch
	for _, f := range p.out.Findings.Sorted() {
		r := reason
		if r == "" || f.Object != targets.Ref(p.b) || f.Severity != finding.Error {
			r = string(f.Reason)
		}
		out = append(out, cluster.Event{
			Ref:     cluster.Ref{Kind: cluster.Kind(f.Object.Kind), Namespace: f.Object.Namespace, Name: f.Object.Name},
			Warning: true, Fault: f.Severity == finding.Error, Reason: r, Message: string(f.Reason) + ": " + f.Text(),
		})
	}
	if reason == "" && p.out.Changed {
		out = append(out, cluster.Event{Ref: cluster.RefOf(p.b), Reason: reasonReconciled, Message: "Successfully reconciled"})
	}
	if len(out) > 0 {
		if err := p.r.fence(); err != nil {
			return err
		}
	}
	return p.r.Cluster.Write(ctx, append(out, lasting(p.key)))
}

// lasting says that the warnings it comes with last, and no others of the binding, so that their events
// are raised before the API server drops them.
func lasting(key Key) cluster.Lasting {
	return cluster.Lasting{Of: "TargetGroupBinding " + key.String()}
}
