package bindings

import (
	"context"
	"errors"
	"fmt"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// ruleSyncer is the part of a Reconciler that changes the rules of the security groups of nodes and pods.
type ruleSyncer struct{ *Reconciler }

// ruleRun is the part of a run of a binding that changes rules.
type ruleRun struct{ *run }

// SyncRules makes the rules of all security groups of nodes and pods equal to the rules that all bindings need. A run of a
// binding changes only the security groups that the binding needs. SyncRules is called at the start, to remove the rules of
// bindings that were deleted while no controller ran, and regularly, to restore rules that were changed in AWS. It must be
// called after the cache is synced. After an error it must be called again.
func (r *Reconciler) SyncRules(ctx context.Context) error { return ruleSyncer{r}.syncRules(ctx) }

func (r ruleSyncer) syncRules(ctx context.Context) error {
	if err := r.readMissingRules(ctx, Key{}); err != nil {
		return err
	}
	_, err := r.syncAllSecurityGroups(ctx, Key{}, 0, true)
	return err
}

// syncRules carries out the step of a plan that changes rules. Unless the binding is being deleted, an error becomes only a
// finding in d.Rules. The targets are registered nevertheless, so that they can serve requests as soon as the rules exist.
func (p ruleRun) syncRules(ctx context.Context, f *bindingplan.Facts, do bindingplan.SyncRules, d *bindingplan.StepResults) error {
	if do.OnlyIfRequested && !p.r.sharedRules.mayHaveRules(p.key) {
		return nil
	}
	if do.ExcludeBinding {
		return p.removeRules(ctx, f)
	}
	start := p.r.Clock.Now()
	defer func() { p.r.recordPhase("rules", start) }()
	var err error
	if d.Rules, err = p.addRules(ctx, f, do); err != nil {
		m, _ := failure.MeaningOf(failure.ENIRules, p.r.Cloud.Class(err), err)
		d.Rules = bindingplan.RulesResult{Findings: finding.List{{
			Object: targets.BindingRef(f.StoredBinding), Field: "spec.networking", Reason: m.Reason, Severity: finding.Error,
			Message: failure.WithoutSDKText(err), Fix: m.Fix,
		}}}
	}
	return nil
}

// addRules adds the rules of the endpoints of the binding. It is called before targets are registered.
func (p ruleRun) addRules(ctx context.Context, f *bindingplan.Facts, do bindingplan.SyncRules) (bindingplan.RulesResult, error) {
	requested, err := ruleSyncer{p.r}.resolveRequestedRules(ctx, do.MaxAge, p.demand)
	if err != nil {
		return bindingplan.RulesResult{}, err
	}
	a := requested[0]
	s, err := p.syncRequestedRules(ctx, f, a, do)
	if err != nil {
		return bindingplan.RulesResult{}, err
	}
	o := bindingplan.RulesResultOf(a)
	o.OtherRulesMissing = s.incomplete
	return o, nil
}

// removeRules removes the rules that only this binding needed. It is called when the binding is deleted.
func (p ruleRun) removeRules(ctx context.Context, f *bindingplan.Facts) error {
	if err := p.findUntaggedSecurityGroups(ctx, f.StoredBinding); err != nil {
		return err
	}
	_, err := p.syncRequestedRules(ctx, f, bindingplan.RequestedRules{Complete: true}, bindingplan.SyncRules{ExcludeBinding: true})
	return err
}

// findUntaggedSecurityGroups finds the security groups without the tag of the cluster in which an earlier process may
// have added rules for a binding that has needed no rules in this process. Nothing else shows them to this process after
// the pods of the binding are deleted. A remaining rule would prevent that its source, such as the shared backend security
// group, is deleted.
//
// Only sources that the controller created for this cluster count, because users write any source into a binding, and a rule
// does not show which cluster added it. The security group that the flag --backend-security-group names does not count,
// because other clusters may use it too. It is never deleted, so its rules remain, but no deletion waits for them.
func (p ruleRun) findUntaggedSecurityGroups(ctx context.Context, b *elbv2.TargetGroupBinding) error {
	if b == nil || b.Spec.Networking == nil || p.r.sharedRules.hasNeededRules(p.key) {
		return nil
	}
	var sources []string
	for _, rule := range b.Spec.Networking.Ingress {
		for _, peer := range rule.From {
			if peer.SecurityGroup != nil {
				sources = append(sources, peer.SecurityGroup.GroupID)
			}
		}
	}
	if len(sources) == 0 {
		return nil
	}
	found, err := p.r.Cloud.SecurityGroupsAdmitting(ctx, sources)
	if err != nil {
		return fmt.Errorf("find the security groups with rules of the binding: %w", err)
	}
	p.r.sharedRules.recordFoundSecurityGroups(p.key, found)
	return nil
}

// syncRequestedRules sets the rules that the binding needs (a), and changes the security groups that this affects.
func (p ruleRun) syncRequestedRules(ctx context.Context, f *bindingplan.Facts, a bindingplan.RequestedRules, do bindingplan.SyncRules) (syncResult, error) {
	if !p.r.sharedRules.isComplete() {
		if err := (ruleSyncer{p.r}).readMissingRules(ctx, p.key); err != nil {
			return syncResult{}, err
		}
	}
	successors, err := p.bindingsSharingTargetGroup(f.StoredBinding, do.ExcludeBinding)
	if err != nil {
		return syncResult{}, err
	}
	ruleSyncer{p.r}.enqueueBindings(p.r.sharedRules.updateRequestedRules(p.key, a, do.RetainPreviousRules, successors))
	s, err := ruleSyncer{p.r}.syncPendingSecurityGroups(ctx, p.key, do.MaxAge)
	if s.changed {
		p.markChanged()
	}
	return s, err
}

// bindingsSharingTargetGroup returns the other bindings of the namespace with the same target group. It returns none if the
// binding is not being deleted and does not share its target group with other clusters, because then it does not deregister
// the targets of these bindings.
func (p ruleRun) bindingsSharingTargetGroup(b *elbv2.TargetGroupBinding, leaving bool) (out []Key, _ error) {
	if b == nil || !leaving && !b.Spec.MultiClusterTargetGroup {
		return nil, nil
	}
	v := p.r.Cluster.View().CacheOnly()
	for _, o := range bindingsOfTargetGroup(v, b) {
		if o.Namespace == b.Namespace && o.Name != b.Name && o.DeletionTimestamp == nil && bindingplan.SameTargetGroup(o, b) {
			out = append(out, Key{Namespace: o.Namespace, Name: o.Name})
		}
	}
	return out, v.Err()
}

// readMissingRules reads the rules of the bindings that have not run in this process, and enqueues the bindings that have to
// run because of them. by is the binding whose run calls it; zero if no run calls it.
func (r ruleSyncer) readMissingRules(ctx context.Context, by Key) error {
	all, err := r.rulesOfAllBindings(ctx, Key{}, false, false)
	if err != nil {
		return err
	}
	added, run := r.sharedRules.addMissingRules(by, all)
	v := r.Cluster.View().CacheOnly() // a binding may have been deleted since the rules were read, after its last run
	for _, key := range added {
		if _, there := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, key.Namespace, key.Name); !there && v.Err() == nil {
			r.sharedRules.forget(key)
		}
	}
	r.enqueueBindings(run)
	return v.Err()
}

// enqueueBindings enqueues bindings. Their next runs compare them with AWS.
func (r ruleSyncer) enqueueBindings(keys []Key) {
	for _, key := range keys {
		r.memory.update(key, recordComparisonDueNow)
		r.Queue.Enqueue(key)
	}
}

// syncResult is the result of comparing and changing security groups.
type syncResult struct {
	changed    bool
	incomplete bool // an optional security group could not be compared or changed now
}

// syncPendingSecurityGroups compares and changes the pending security groups of a binding. It fails if a required security
// group cannot be changed, or if an optional one cannot be read. If age is positive, the answers of AWS must not be older
// than age.
func (r ruleSyncer) syncPendingSecurityGroups(ctx context.Context, key Key, age time.Duration) (s syncResult, _ error) {
	d := r.sharedRules.pendingSecurityGroupsOf(key, age > 0)
	if d.all {
		all, err := r.syncAllSecurityGroups(ctx, key, age, false)
		if err != nil {
			return all, err
		}
		r.sharedRules.recordAllSecurityGroupsSynced(key)
		s = all
	}
	var errs []error
	for _, g := range d.required {
		changed, _, err := r.syncSecurityGroup(ctx, key, g, age, true)
		s.changed = s.changed || changed
		errs = append(errs, err)
	}
	optional, err := r.syncEachSecurityGroup(ctx, key, d.optional, age, false)
	s.changed, s.incomplete = s.changed || optional.changed, s.incomplete || optional.incomplete
	return s, errors.Join(append(errs, err)...)
}

// syncEachSecurityGroup compares and changes several security groups. A failure does not stop the others, and the next run
// that changes rules tries the security group again. It only returns the errors of security groups that could not be read.
func (r ruleSyncer) syncEachSecurityGroup(ctx context.Context, key Key, groups []string, age time.Duration, wait bool) (s syncResult, _ error) {
	var errs []error
	for _, g := range groups {
		changed, wasRead, err := r.syncSecurityGroup(ctx, key, g, age, wait)
		s.changed = s.changed || changed
		if err != nil || !wasRead {
			r.sharedRules.recordUncomparedSecurityGroup(g)
			s.incomplete = true
		}
		if !wasRead {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

// syncAllSecurityGroups compares and changes all security groups that may have rules of bindings.
func (r ruleSyncer) syncAllSecurityGroups(ctx context.Context, key Key, age time.Duration, wait bool) (s syncResult, _ error) {
	groups, err := r.readSecurityGroups(ctx, r.sharedRules.knownSecurityGroups(), age)
	if err != nil {
		return s, err
	}
	ids := make([]string, len(groups))
	for i, g := range groups {
		ids[i] = g.ID
	}
	s, _ = r.syncEachSecurityGroup(ctx, key, ids, age, wait)
	return s, ctx.Err()
}

// syncSecurityGroup compares and changes one security group, while it has the lock of the security group. Without the lock,
// each of two runs could remove the rules that the other has just added. wasRead reports whether it got the lock and read the
// security group.
func (r ruleSyncer) syncSecurityGroup(ctx context.Context, key Key, group string, age time.Duration, wait bool) (changed, wasRead bool, err error) {
	end, err := r.sharedRules.lockSecurityGroup(ctx, group, wait)
	if err != nil || end == nil {
		return false, false, err
	}
	defer end()
	if changed, wasRead, err = r.applyDesiredRules(ctx, group, age); err != nil && r.Cloud.Class(err) == failure.Conflict {
		// The rules differ from what was read: another program changed them, or the answer to an earlier attempt was lost.
		var again bool
		again, wasRead, err = r.applyDesiredRules(ctx, group, age)
		changed = changed || again
	}
	if err == nil {
		r.sharedRules.recordSyncedSecurityGroup(key, group)
	}
	return changed, wasRead, err
}

// applyDesiredRules reads a security group, and changes its rules. The caller has the lock of the security group.
func (r ruleSyncer) applyDesiredRules(ctx context.Context, group string, age time.Duration) (changed, wasRead bool, err error) {
	groups, err := r.readSecurityGroups(ctx, r.sharedRules.knownSecurityGroups(), age)
	if err != nil {
		return false, false, err
	}
	for _, g := range groups {
		if g.ID != group {
			continue
		}
		c := r.sharedRules.changeForSecurityGroup(g, r.ruleOptions())
		if err := r.sharedRules.refusalOf(c, r.Clock.Now()); err != nil {
			return false, true, err
		}
		if !c.Empty() {
			changed, err = r.changeSecurityGroup(ctx, c)
		}
		if err == nil || ctx.Err() == nil && r.isRefusalError(err) {
			r.sharedRules.recordRefusedChange(c, err, r.Clock.Now())
		}
	}
	return changed, true, err
}

// readSecurityGroups reads the security groups that have the tag of the cluster or one of the IDs.
func (r ruleSyncer) readSecurityGroups(ctx context.Context, ids []string, age time.Duration) ([]EndpointSecurityGroup, error) {
	groups, err := r.Cloud.EndpointSecurityGroups(ctx, ids, age)
	if err != nil {
		return nil, fmt.Errorf("read security groups of nodes and pods: %w", err)
	}
	return groups, nil
}
