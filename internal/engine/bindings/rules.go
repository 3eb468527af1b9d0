package bindings

import (
	"context"
	"errors"
	"fmt"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// rules is the part of a reconciler that compares security groups of nodes and pods with what bindings ask for, and changes
// them.
type rules struct{ *Reconciler }

// ruleRun is the part of a run that is about rules.
type ruleRun struct{ *run }

// SyncRules makes the rules of all endpoint groups equal to what the bindings of the cluster ask
// for together. Runs over bindings change those that their own binding asks for. This is for the start of the process, so
// that rules are removed whose last binding was deleted while no controller ran, and from time to time for what has changed
// in AWS alone. It is to be called once the cluster's cache is synced, and is to be tried again after an error.
func (r *Reconciler) SyncRules(ctx context.Context) error { return rules{r}.sync(ctx) }

func (r rules) sync(ctx context.Context) error {
	if err := r.readMissing(ctx, Key{}); err != nil {
		return err
	}
	_, err := r.syncAll(ctx, Key{}, 0, true)
	return err
}

// syncRules carries the step of a plan out. Where a binding stays, an error is a finding: rules are in the way of health
// checks at worst. Registering goes on, so that the new targets are there when the rules are.
func (p ruleRun) syncRules(ctx context.Context, f *bindingplan.Facts, do bindingplan.SyncRules, d *bindingplan.StepResults) error {
	if do.IfAsked && !p.r.owner.mayAsk(p.key) {
		return nil
	}
	if do.Leaving {
		return p.withdrawRules(ctx, f)
	}
	start := p.r.Clock.Now()
	defer func() { p.r.phase("rules", start) }()
	var err error
	if d.Rules, err = p.openRules(ctx, f, do); err != nil {
		m, _ := failure.MeaningOf(failure.RulesOfENIs, p.r.Cloud.Class(err), err)
		d.Rules = bindingplan.RulesResult{Findings: finding.List{{
			Object: targets.Ref(f.Stored), Field: "spec.networking", Reason: m.Reason, Severity: finding.Error,
			Message: err.Error(), Fix: m.Fix,
		}}}
	}
	return nil
}

// openRules adds the rules of the endpoints before targets are registered.
func (p ruleRun) openRules(ctx context.Context, f *bindingplan.Facts, do bindingplan.SyncRules) (bindingplan.RulesResult, error) {
	asked, err := rules{p.r}.rulesAsked(ctx, do.MaxAge, bindingplan.Demand{Key: p.key, Ref: targets.Ref(f.Stored), Demand: p.demand})
	if err != nil {
		return bindingplan.RulesResult{}, err
	}
	a := asked[0]
	s, err := p.contribute(ctx, f, a, do)
	if err != nil {
		return bindingplan.RulesResult{}, err
	}
	o := bindingplan.RulesResultOf(a)
	o.Again = s.again
	return o, nil
}

// withdrawRules takes the rules away that only this binding asked for. What AWS refuses of that holds no binding up
// that goes.
func (p ruleRun) withdrawRules(ctx context.Context, f *bindingplan.Facts) error {
	_, err := p.contribute(ctx, f, bindingplan.AskedRules{Complete: true}, bindingplan.SyncRules{Leaving: true})
	return err
}

// contribute records what the binding asks for now, and changes the security groups that this concerns.
func (p ruleRun) contribute(ctx context.Context, f *bindingplan.Facts, a bindingplan.AskedRules, do bindingplan.SyncRules) (synced, error) {
	if !p.r.owner.isComplete() {
		if err := (rules{p.r}).readMissing(ctx, p.key); err != nil {
			return synced{}, err
		}
	}
	heirs, err := p.successors(f.Stored, do.Leaving)
	if err != nil {
		return synced{}, err
	}
	rules{p.r}.enqueueBindings(p.r.owner.contribute(p.key, a, do.Keeps, heirs))
	s, err := rules{p.r}.syncGroups(ctx, p.key, do.MaxAge)
	if s.changed {
		p.noteChanged()
	}
	return s, err
}

// successors returns the other bindings of the namespace with the same targets, if this one may give some up that it has
// registered. They may be those of one that has had no run yet.
func (p ruleRun) successors(b *elbv2.TargetGroupBinding, leaving bool) (out []Key, _ error) {
	if b == nil || !leaving && !b.Spec.MultiClusterTargetGroup {
		return nil, nil
	}
	v := p.r.Cluster.View().Informed()
	for _, o := range withTargetGroup(v, b) {
		if o.Namespace == b.Namespace && o.Name != b.Name && o.DeletionTimestamp == nil && bindingplan.SameTargetGroup(o, b) {
			out = append(out, Key{Namespace: o.Namespace, Name: o.Name})
		}
	}
	return out, v.Err()
}

// readMissing reads what all bindings ask for that have had no run, on behalf of one.
func (r rules) readMissing(ctx context.Context, by Key) error {
	all, err := r.rulesOfAll(ctx, Key{}, false, false)
	if err != nil {
		return err
	}
	taken, run := r.owner.addMissing(by, all)
	v := r.Cluster.View().Informed() // some may have gone since, and had their last run
	for _, key := range taken {
		if _, there := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, key.Namespace, key.Name); !there && v.Err() == nil {
			r.owner.forget(key)
		}
	}
	r.enqueueBindings(run)
	return v.Err()
}

// enqueueBindings queues the bindings for runs that compare them with AWS. They are there, if they have not gone a
// moment ago.
func (r rules) enqueueBindings(keys []Key) {
	for _, key := range keys {
		r.memory.note(key, noteDueNow)
		r.Queue.Enqueue(key)
	}
}

// synced is the result of comparing security groups.
type synced struct {
	changed bool
	again   bool // one that the binding asks for no rules of could not be changed now
}

// syncGroups changes the security groups that are to be compared on behalf of a binding: those of the rules that it asks for
// or has left. The error is that of groups of the former. What it compares is not older than age, if that is above zero.
func (r rules) syncGroups(ctx context.Context, key Key, age time.Duration) (s synced, _ error) {
	d := r.owner.due(key, age > 0)
	if d.all {
		all, err := r.syncAll(ctx, key, age, false)
		if err != nil {
			return all, err
		}
		r.owner.syncedAll(key)
		s = all
	}
	var errs []error
	for _, g := range d.mine {
		changed, _, err := r.syncGroup(ctx, key, g, age, true)
		s.changed = s.changed || changed
		errs = append(errs, err)
	}
	for _, g := range d.others {
		changed, looked, err := r.syncGroup(ctx, key, g, age, false)
		s.changed = s.changed || changed
		if err != nil || !looked {
			r.owner.noteUncompared(g)
			s.again = true
		}
		if !looked {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

// syncAllGroups changes all security groups that may have rules of bindings.
func (r rules) syncAll(ctx context.Context, key Key, age time.Duration, wait bool) (s synced, _ error) {
	groups, err := r.securityGroups(ctx, r.owner.knownGroups(), age)
	if err != nil {
		return s, err
	}
	for _, g := range groups {
		changed, looked, err := r.syncGroup(ctx, key, g.ID, age, wait)
		s.changed = s.changed || changed
		if err != nil || !looked {
			r.owner.noteUncompared(g.ID)
			s.again = true
		}
	}
	return s, ctx.Err()
}

// syncGroup changes one security group. Two runs that did so at once would each take away what the other has just added.
func (r rules) syncGroup(ctx context.Context, key Key, group string, age time.Duration, wait bool) (changed, looked bool, err error) {
	end, err := r.owner.begin(ctx, group, wait)
	if err != nil || end == nil {
		return false, false, err
	}
	defer end()
	groups, err := r.securityGroups(ctx, r.owner.knownGroups(), age)
	if err != nil {
		return false, false, err
	}
	for _, g := range groups {
		if g.ID != group {
			continue
		}
		if c := r.owner.change(g, r.options()); !c.Empty() {
			changed, err = r.changeGroup(ctx, c)
		}
	}
	if err == nil {
		r.owner.synced(key, group)
	}
	return changed, true, err
}

func (r rules) securityGroups(ctx context.Context, ids []string, age time.Duration) ([]EndpointGroup, error) {
	groups, err := r.Cloud.EndpointGroups(ctx, ids, age)
	if err != nil {
		return nil, fmt.Errorf("read security groups of nodes and pods: %w", err)
	}
	return groups, nil
}

// changeGroup changes the rules of one group. A rule that AWS refuses does not keep the others
// out, and at the quota of rules the old ones go first.
func (r rules) changeGroup(ctx context.Context, c bindingplan.GroupChange) (changed bool, err error) {
	send := func(authorize, revoke []model.IngressRule) error {
		if len(authorize)+len(revoke) == 0 {
			return nil
		}
		if err := r.fence(); err != nil {
			return err
		}
		if err := r.Cloud.ChangeEndpointRules(ctx, c.Group, authorize, revoke); err != nil {
			return fmt.Errorf("change rules of security group %s: %w", c.Group, err)
		}
		changed = true
		r.noteChange(Authorized, c.Group, ruleNames(authorize))
		r.noteChange(Revoked, c.Group, ruleNames(revoke))
		return nil
	}
	if err = send(c.Authorize, c.Revoke); err == nil {
		return changed, nil
	}
	switch r.Cloud.Class(err) {
	case engine.Quota:
		if err := send(nil, c.Revoke); err != nil {
			return changed, err
		}
		if err := send(c.Authorize, nil); err != nil {
			return changed, fmt.Errorf("%w; the group would have %d rules", err, c.Total)
		}
		return changed, nil
	case engine.Invalid, engine.Gone:
		if len(c.Authorize) < 2 {
			return changed, err
		}
		var errs []error
		for _, rule := range c.Authorize {
			errs = append(errs, send([]model.IngressRule{rule}, nil))
		}
		if err := errors.Join(errs...); err != nil {
			return changed, err
		}
		return changed, send(nil, c.Revoke)
	}
	return changed, err
}
