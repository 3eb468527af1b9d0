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

// Targets, and rules of the security groups of nodes and pods, that others have changed. They are read
// again from time to time and compared with what this process has registered and opened. What this process
// has not done itself is not compared.

// targetDrift holds the changes that others seem to have made to a target group, by identity.
type targetDrift struct{ missing, added []string }

func (d targetDrift) empty() bool { return len(d.missing)+len(d.added) == 0 }

func (d targetDrift) String() string {
	return strings.Join(d.missing, " ") + "|" + strings.Join(d.added, " ")
}

// Verifiable returns the bindings whose targets may be compared now with what was registered for them.
func (r *Reconciler) Verifiable() []Key {
	now := r.Clock.Now()
	return r.memory.keysWhere(func(e entry) bool { return e.verifiable(now) })
}

// verifiable reports whether all is registered that this process wants to be, and AWS shows it.
func (e entry) verifiable(now time.Time) bool {
	return e.registration.binding != nil && e.complete && e.running == 0 && now.Sub(e.registration.written) > durations.Settle
}

// Verify reads the targets of a binding, and compares them with those that were registered for it. Where
// others have changed them, the binding is due for a comparison, or what they did is reported.
func (r *Reconciler) Verify(ctx context.Context, key Key) error {
	before := r.memory.get(key)
	if !before.verifiable(r.Clock.Now()) {
		return nil
	}
	b := before.registration.binding
	h, err := r.Cloud.As(accountOf(b)).TargetHealth(ctx, b.Spec.TargetGroupARN, 0)
	if err != nil {
		return fmt.Errorf("list targets of %s: %w", b.Spec.TargetGroupARN, err)
	}
	var d targetDrift
	isNew := false
	r.memory.noteKnown(key, func(e entry, at moment) entry {
		if e.run != before.run || !e.verifiable(at.now) {
			return e // a run has changed them meanwhile
		}
		d = e.registration.driftIn(h.Targets)
		isNew = d.String() != e.registration.drift.String()
		e.registration.drift = d
		if !d.empty() && r.Drift != engine.ReportDrift {
			e.due = at.now
		}
		return e
	})
	switch {
	case d.empty() || !isNew && r.Drift == engine.ReportDrift:
		return nil
	case r.Drift == engine.ReportDrift:
		return r.reportDrift(ctx, b, d)
	}
	r.Queue.Enqueue(key)
	return nil
}

// reportRestored reports targets that others have changed and that are as they were.
func (p *run) reportRestored(ctx context.Context, b *elbv2.TargetGroupBinding, identities []string) {
	canonical := make([]string, 0, len(identities))
	for _, id := range identities {
		canonical = append(canonical, targets.CanonicalIdentity(id))
	}
	var d targetDrift
	p.r.memory.noteKnown(p.key, func(e entry, _ moment) entry {
		d, e.registration.drift = e.registration.drift.split(canonical)
		return e
	})
	if !d.empty() {
		_ = p.r.reportDrift(ctx, b, d) // the targets count, not the event
	}
}

// reportDrift writes the event of targets that others have changed, and counts them.
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
			what = append(what, fmt.Sprintf("%s: %s -> %s", firstNames(x.list), x.from, x.to))
		}
	}
	text := fmt.Sprintf("targets of %s were changed by others: %s", b.Spec.TargetGroupARN, strings.Join(what, ", "))
	r.Recorder.Drifted("targets", r.Drift)
	var patches []cluster.Patch
	for _, of := range append([]finding.Ref{targets.Ref(b)}, r.Owners(b)...) {
		patches = append(patches, r.driftEvent(of, text))
	}
	return r.write(ctx, patches)
}

// driftEvent returns what others have changed.
func (r *Reconciler) driftEvent(of finding.Ref, text string) cluster.Event {
	reason, does := finding.DriftRepaired, "the controller restores it; CloudTrail shows who changed it"
	if r.Drift == engine.ReportDrift {
		reason, does = finding.DriftFound, "it stays until the endpoints change, because of --drift=report; restore it in AWS"
	}
	return cluster.Event{
		Ref:     cluster.Ref{Kind: cluster.Kind(of.Kind), Namespace: of.Namespace, Name: of.Name},
		Warning: true, Reason: string(reason), Message: string(reason) + ": " + finding.Printable(text+"; "+does),
	}
}

// mostNamed is how many targets or rules an event names.
const mostNamed = 5

func firstNames(list []string) string {
	if len(list) <= mostNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], ", "), len(list)-mostNamed)
}

// VerifyRules reads the rules of the security groups of nodes and pods, and restores those that others
// have changed, or reports them on bindings whose traffic they admit.
func (r *Reconciler) VerifyRules(ctx context.Context) error {
	changed, err := r.Cloud.ChangedEndpointGroups(ctx)
	if err != nil {
		return fmt.Errorf("read security groups of nodes and pods: %w", err)
	}
	if len(changed) == 0 {
		return nil
	}
	if r.Drift != engine.ReportDrift {
		restored, err := rules{r}.restore(ctx, changed)
		if err != nil || !restored {
			return err // none were the controller's
		}
	}
	r.Recorder.Drifted("endpoint-security-group", r.Drift)
	text := "rules of security group " + firstNames(changed) + " that admit traffic to targets were changed by others"
	var patches []cluster.Patch
	for _, of := range r.someOwners(r.owner.keysForGroups(changed)) {
		patches = append(patches, r.driftEvent(of, text))
	}
	return r.write(ctx, patches)
}

// restore makes the rules of security groups as bindings ask for, and reports whether they were not.
func (r rules) restore(ctx context.Context, groups []string) (restored bool, _ error) {
	if !r.owner.isComplete() {
		if err := r.readMissing(ctx, Key{}); err != nil {
			return false, err
		}
	}
	for _, g := range groups {
		changed, _, err := r.syncGroup(ctx, Key{}, g, 0, true)
		restored = restored || changed
		if err != nil {
			r.owner.noteUncompared(g) // the next run that changes rules tries again
		}
	}
	return restored, ctx.Err()
}

// someOwners returns some of the owners of bindings, each once, and of those without an owner the bindings.
func (r *Reconciler) someOwners(keys []Key) (out []finding.Ref) {
	v := r.Cluster.View().Unsubscribed()
	for _, key := range keys {
		b, there := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, key.Namespace, key.Name)
		if !there {
			continue
		}
		of := r.Owners(b)
		if len(of) == 0 {
			of = []finding.Ref{targets.Ref(b)}
		}
		for _, ref := range of {
			if !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
		if len(out) >= mostNamed {
			break
		}
	}
	return out[:min(len(out), mostNamed)]
}
