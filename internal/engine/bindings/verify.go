package bindings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// The functions below find drift of targets, and of the rules of the security groups of nodes and pods. The state in AWS is
// read regularly, and compared with the changes that this process has made. Changes that an earlier controller process made
// are not included.

// targetDrift is the drift of the targets of a target group, as identities. missing are targets that this process registered
// and that are not registered any more. added are registered targets that this process has not registered.
type targetDrift struct{ missing, added []string }

func (d targetDrift) isEmpty() bool { return len(d.missing)+len(d.added) == 0 }

func (d targetDrift) String() string {
	return strings.Join(d.missing, " ") + "|" + strings.Join(d.added, " ")
}

// VerifiableBindings returns the bindings whose targets in AWS can be compared now with the targets that this process has
// registered (Verify).
func (r *Reconciler) VerifiableBindings() []Key {
	now := r.Clock.Now()
	return r.memory.keysWhere(func(e entry) bool { return e.isVerifiable(now) })
}

// isVerifiable reports whether the last run of the binding was complete, no run is active, and the settle window of the last
// registration or deregistration is over.
func (e entry) isVerifiable(now time.Time) bool {
	return e.registration.binding != nil && e.lastRunComplete && e.activeRuns == 0 && now.Sub(e.registration.writtenAt) > durations.SettleWindow
}

// VerifyTargets reads the targets of a binding from AWS, and compares them with those that this process registered. If there
// is drift, it enqueues the binding for a comparison; with engine.ReportDrift it only reports the drift.
func (r *Reconciler) VerifyTargets(ctx context.Context, key Key) error {
	before := r.memory.get(key)
	if !before.isVerifiable(r.Clock.Now()) {
		return nil
	}
	b := before.registration.binding
	h, err := r.Cloud.TargetGroupsOf(accountOf(b)).TargetHealth(ctx, b.Spec.TargetGroupARN, 0)
	if err != nil {
		return fmt.Errorf("list targets of %s: %w", b.Spec.TargetGroupARN, err)
	}
	var d targetDrift
	isNew := false
	r.memory.updateIfKnown(key, func(e entry, at updateInput) entry {
		if e.lastRunUpdate != before.lastRunUpdate || !e.isVerifiable(at.now) {
			return e // a run may have changed the targets after they were read
		}
		d = e.registration.driftIn(h.Targets)
		isNew = d.String() != e.registration.drift.String()
		e.registration.drift = d
		if !d.isEmpty() && r.Drift != engine.ReportDrift {
			e.comparisonDueAt = at.now
		}
		return e
	})
	switch {
	case d.isEmpty() || !isNew && r.Drift == engine.ReportDrift:
		return nil
	case r.Drift == engine.ReportDrift:
		return r.reportDrift(ctx, b, d)
	}
	r.Queue.Enqueue(key)
	return nil
}

// reportCorrectedDrift reports the drift of the targets with these identities, which a run of the binding has just restored.
func (r *Reconciler) reportCorrectedDrift(ctx context.Context, b *elbv2.TargetGroupBinding, identities []string) {
	canonical := textsOf(identities, targets.CanonicalIdentity)
	var d targetDrift
	r.memory.updateIfKnown(Key{Namespace: b.Namespace, Name: b.Name}, func(e entry, _ updateInput) entry {
		d, e.registration.drift = e.registration.drift.split(canonical)
		return e
	})
	if !d.isEmpty() {
		_ = r.reportDrift(ctx, b, d) // the error is ignored: a run is not repeated only because an event could not be written
	}
}

// reportDrift writes the events about drifted targets on the binding and its owners, and records the drift. It does nothing
// with engine.IgnoreDrift.
func (r *Reconciler) reportDrift(ctx context.Context, b *elbv2.TargetGroupBinding, d targetDrift) error {
	if r.Drift == engine.IgnoreDrift {
		return nil
	}
	var what []string
	for _, x := range []struct {
		list     []string
		from, to string
	}{{d.missing, "registered", "not registered"}, {d.added, "not registered", "registered"}} {
		if len(x.list) > 0 {
			what = append(what, fmt.Sprintf("%s: %s -> %s", joinNames(x.list), x.from, x.to))
		}
	}
	text := fmt.Sprintf("targets of %s were changed by others: %s", b.Spec.TargetGroupARN, strings.Join(what, ", "))
	r.Recorder.RecordDrift("targets", r.Drift)
	var patches []cluster.Patch
	for _, of := range append([]finding.Ref{targets.BindingRef(b)}, r.Owners(b)...) {
		patches = append(patches, r.driftEvent(of, text))
	}
	return r.writeEvents(ctx, patches)
}

// driftEvent returns the event about drift on object of. text describes the change.
func (r *Reconciler) driftEvent(of finding.Ref, text string) cluster.Event {
	reason, does := finding.DriftRepaired, "the controller reverts the change; CloudTrail shows who made it"
	if r.Drift == engine.ReportDrift {
		reason, does = finding.DriftFound, "the change stays until the endpoints change or until the next periodic comparison, because of --drift=report; revert it in AWS"
	}
	return cluster.Event{
		Ref:     of,
		Warning: true, Reason: string(reason), Message: string(reason) + ": " + finding.EscapeNonPrintable(text+"; "+does),
	}
}

// maxNamedItems is the maximum number of targets, security groups or owners that an event names.
const maxNamedItems = 5

// joinNames joins the first maxNamedItems names of a list, and adds the number of the other names.
func joinNames(list []string) string {
	if len(list) <= maxNamedItems {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNamedItems], ", "), len(list)-maxNamedItems)
}

// VerifyRules reads the rules of the security groups of nodes and pods. It restores rules that an external actor has
// changed, unless the mode is engine.ReportDrift. It reports the drift on the bindings whose traffic the rules admit, or on
// their owners.
func (r *Reconciler) VerifyRules(ctx context.Context) error {
	changed, err := r.Cloud.ChangedEndpointSecurityGroups(ctx)
	if err != nil {
		return fmt.Errorf("read security groups of nodes and pods: %w", err)
	}
	if len(changed) == 0 {
		return nil
	}
	if r.Drift != engine.ReportDrift {
		restored, err := ruleSyncer{r}.restoreRules(ctx, changed)
		if err != nil || !restored {
			return err // nothing to restore or report: the desired rules exist in AWS
		}
	}
	r.Recorder.RecordDrift("endpoint-security-group", r.Drift)
	text := "rules of security group " + joinNames(changed) + " that admit traffic to targets were changed by others"
	var patches []cluster.Patch
	for _, of := range r.ownersOf(r.sharedRules.keysForSecurityGroups(changed)) {
		patches = append(patches, r.driftEvent(of, text))
	}
	return r.writeEvents(ctx, patches)
}

// restoreRules changes the rules of security groups to the desired rules, and reports whether any rule was changed.
func (r ruleSyncer) restoreRules(ctx context.Context, groups []string) (restored bool, _ error) {
	if !r.sharedRules.isComplete() {
		if err := r.readMissingRules(ctx, Key{}); err != nil {
			return false, err
		}
	}
	s, _ := r.syncEachSecurityGroup(ctx, Key{}, groups, 0, true)
	return s.changed, ctx.Err()
}

// ownersOf returns at most maxNamedItems objects that get the events of the bindings: the owners of each binding, or the
// binding itself if it has none. No object is returned twice.
func (r *Reconciler) ownersOf(keys []Key) (out []finding.Ref) {
	v := r.Cluster.View().Unsubscribed()
	for _, key := range keys {
		b, there := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, key.Namespace, key.Name)
		if !there {
			continue
		}
		of := r.Owners(b)
		if len(of) == 0 {
			of = []finding.Ref{targets.BindingRef(b)}
		}
		for _, ref := range of {
			if !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
		if len(out) >= maxNamedItems {
			break
		}
	}
	return out[:min(len(out), maxNamedItems)]
}
