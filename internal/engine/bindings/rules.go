package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/failure"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// SyncRules makes the rules of all endpoint groups equal to what the bindings of the cluster ask
// for together. Runs over bindings do it by themselves; this is for the start of the process, so
// that rules are removed whose last binding was deleted while no controller ran. It is to be called once
// the cluster's cache is synced, and is to be tried again after an error.
func (r *Reconciler) SyncRules(ctx context.Context) error {
	_, err := r.updateRules(ctx, Key{}, false, 0)
	return err
}

// syncRules carries the step of a plan out. Where a binding stays, an error is a finding: rules are in the way of health
// checks at worst. Registering goes on, so that the new targets are there when the rules are.
func (p *run) syncRules(ctx context.Context, f *bindingplan.Facts, do bindingplan.SyncRules, d *bindingplan.Done) error {
	if do.Leaving {
		change, err := p.r.updateRules(ctx, p.key, true, 0)
		if change.changed {
			p.changed()
		}
		return err
	}
	start := p.r.Now()
	defer func() { p.r.phase("rules", start) }()
	var err error
	d.Rules, err = p.openRules(ctx, f, do)
	if errors.As(err, new(cluster.Stale)) {
		return err // the binding itself has changed
	}
	if err != nil {
		m, _ := failure.MeaningOf(failure.RulesOfENIs, p.r.Cloud.Class(err), err)
		d.Rules = bindingplan.Opening{Findings: finding.List{{
			Object: targets.Ref(f.Stored), Field: "spec.networking", Reason: m.Reason, Severity: finding.Error,
			Message: err.Error(), Fix: m.Fix,
		}}}
	}
	return nil
}

// openRules brings about the rules of the endpoints before targets are registered.
func (p *run) openRules(ctx context.Context, f *bindingplan.Facts, do bindingplan.SyncRules) (bindingplan.Opening, error) {
	if do.MaxAge == 0 && p.r.memory.get(p.key).opened != nil {
		asked, err := p.r.rulesAsked(ctx, bindingplan.Demand{Key: p.key, Ref: targets.Ref(f.Stored), Demand: p.demand})
		if err != nil {
			return bindingplan.Opening{}, err
		}
		if err := p.r.rules.awaitPlanning(ctx); err != nil {
			return bindingplan.Opening{}, err
		}
		if p.r.memory.get(p.key).opened.enough(asked) { // other endpoints behind the same groups
			o := bindingplan.Opening{Done: asked.Complete, Faulty: p.demand.Faulty}
			if !asked.Complete {
				o.Findings, o.Unseen = asked.Findings, asked.Unseen
			}
			return o, nil
		}
	}
	u, err := p.r.updateRules(ctx, p.key, false, do.MaxAge)
	if err != nil {
		return bindingplan.Opening{}, err
	}
	if u.changed {
		p.changed()
	}
	if !do.Keeps {
		p.r.rules.noteOpened(p.key, openedRules{u.Rules, !u.Opening.Done}, u.epoch)
	}
	return u.Opening, nil
}

// ruleUpdate is what bringing the rules up to date has to do, and what became of it.
type ruleUpdate struct {
	bindingplan.RuleDemand
	changes []bindingplan.GroupChange
	changed bool
	epoch   int   // in which this was planned
	unclear []Key // bindings that may ask for rules, so that none was taken away
}

// updateRules makes the rules equal to what is asked for, on behalf of one binding, which is left out if it is leaving.
// What it compares is not older than age, if that is above zero.
func (r *Reconciler) updateRules(ctx context.Context, me Key, leaving bool, age time.Duration) (ruleUpdate, error) {
	if epoch := r.rules.currentEpoch(); epoch >= 0 {
		u, err := r.planRules(ctx, me, leaving, age, false)
		u.epoch = epoch
		if err != nil || len(u.changes) == 0 && r.rules.noteAll(u.Known, epoch) {
			r.runUnclear(u.unclear, me)
			return u, u.settled(me, leaving, err)
		}
	}
	// One run at a time changes rules, and plans them from a view that it took since: a run with
	// an older view would take away what another has just added. The others wait for it: what they find
	// may be about to be taken away.
	epoch, end, err := r.rules.beginChange(ctx)
	if err != nil {
		return ruleUpdate{}, err
	}
	defer end()
	u, err := r.planChange(ctx, me, leaving, age)
	u.epoch = epoch
	if err != nil {
		return u, err
	}
	err = r.changeGroups(ctx, &u)
	if err == nil && !u.Opening.Again {
		r.rules.noteAll(u.Known, epoch)
	}
	return u, u.settled(me, leaving, err)
}

// settled returns err, or that an unclear binding is to be waited for: who leaves, and who tidies up, may be the last to
// find a rule that is to go.
func (u *ruleUpdate) settled(me Key, leaving bool, err error) error {
	if err == nil && len(u.unclear) > 0 && (leaving || me == Key{}) {
		return unclearError{u.unclear[0]}
	}
	return err
}

// unclearError says that what a binding asks for is not known yet.
type unclearError struct{ of Key }

// Error implements error.
func (e unclearError) Error() string {
	return fmt.Sprintf("the Service of TargetGroupBinding %s has not arrived", e.of)
}

// RetryAfter is when to look again.
func (unclearError) RetryAfter() time.Duration { return time.Second }

// planChange plans what is changed then. Whatever becomes of it, other runs wait for it no longer.
func (r *Reconciler) planChange(ctx context.Context, me Key, leaving bool, age time.Duration) (u ruleUpdate, err error) {
	defer func() {
		r.runAgain(r.rules.endPlanning(u.Known), me)
		r.runUnclear(u.unclear, me)
	}()
	return r.planRules(ctx, me, leaving, age, false)
}

// runUnclear brings about runs of unclear bindings, which take away what this one has left.
func (r *Reconciler) runUnclear(unclear []Key, me Key) {
	for _, key := range unclear {
		r.memory.noteKnown(key, noteNotOpened) // so that their next runs plan those of all
	}
	r.runAgain(unclear, me)
}

// runAgain brings about runs of bindings that asked for other rules when these were planned than in their last run. They may
// ask for the old ones again by now, which then does not look like a change.
func (r *Reconciler) runAgain(keys []Key, me Key) {
	for _, key := range keys {
		if key == me {
			continue
		}
		r.memory.noteKnown(key, noteDueNow)
		if r.Again != nil {
			r.Again(key)
		}
	}
}

// changeGroups carries the changes out. The error is that of groups of the binding that asks.
func (r *Reconciler) changeGroups(ctx context.Context, u *ruleUpdate) error {
	var errs []error
	for _, c := range u.changes {
		changed, err := r.changeGroup(ctx, c)
		u.changed = u.changed || changed
		switch {
		case err == nil:
		case u.Mine[c.Group]:
			errs = append(errs, err)
		default:
			u.Opening.Again = true
		}
	}
	err := errors.Join(errs...)
	u.Opening.Done = u.Opening.Done && err == nil
	return err
}

// planRules compares what all bindings of the present view ask for with what is there. In a draft, what is missing is
// taken for missing at once.
func (r *Reconciler) planRules(ctx context.Context, me Key, leaving bool, age time.Duration, draft bool) (ruleUpdate, error) {
	u := ruleUpdate{}
	asks, unclear, err := r.collectDemands(ctx, me, leaving)
	if err != nil {
		return u, err
	}
	if len(unclear) > 0 && !draft && r.memory.mayWait(me) {
		for _, i := range unclear {
			asks[i].Lost = true
			u.unclear = append(u.unclear, asks[i].Key)
		}
	}
	query := bindingplan.QueryFor(asks...)
	query.MaxAge = age
	found, err := r.Cloud.Interfaces(ctx, query)
	if err != nil {
		return u, fmt.Errorf("find network interfaces: %w", err)
	}
	if age > 0 {
		r.rules.forgetNodes() // the groups of ENIs were read again
	}
	u.RuleDemand = bindingplan.DemandOf(me, asks, found, len(r.memory.those(func(e entry) bool { return e.oldServe })) > 0, r.ruleOptions())
	groups, err := r.Cloud.EndpointGroups(ctx, r.rules.remember(u.Asked), age)
	if err != nil {
		return u, fmt.Errorf("read security groups of nodes and pods: %w", err)
	}
	u.changes = bindingplan.PlanRules(u.RuleDemand, groups, r.ruleOptions())
	return u, nil
}

func (r *Reconciler) ruleOptions() bindingplan.RuleOptions {
	return bindingplan.RuleOptions{ClusterName: r.ClusterName, GroupTags: r.GroupTags, Unmerged: r.UnmergedRules, Now: r.Now()}
}

// rulesAsked finds the security groups of the endpoints of one binding.
func (r *Reconciler) rulesAsked(ctx context.Context, d bindingplan.Demand) (bindingplan.AskedRules, error) {
	if d.Nodes.Len() > 0 {
		g, err := r.groupsOf(ctx, d.Nodes)
		if err != nil {
			return bindingplan.AskedRules{}, err
		}
		return bindingplan.RulesOfNodes(d, g), nil
	}
	found, err := r.Cloud.Interfaces(ctx, bindingplan.QueryFor(d))
	if err != nil {
		return bindingplan.AskedRules{}, fmt.Errorf("find network interfaces: %w", err)
	}
	return bindingplan.RulesAsked(d, found, r.ruleOptions()), nil
}

// groupsOf finds the security groups of nodes, of which only those that have changed since the last time are looked at.
func (r *Reconciler) groupsOf(ctx context.Context, list *targets.NodeList) (*bindingplan.NodeGroups, error) {
	old := r.rules.nodesOf(list.Selector())
	if old.Current(list, r.Now()) {
		return old, nil
	}
	g, query := bindingplan.NewNodeGroups(list, old, r.Now())
	var found bindingplan.Interfaces
	if len(query.Instances) > 0 {
		var err error
		if found, err = r.Cloud.Interfaces(ctx, query); err != nil {
			return nil, fmt.Errorf("find network interfaces: %w", err)
		}
	}
	g.Find(found, r.ruleOptions())
	r.rules.noteNodes(list.Selector(), g)
	return g, nil
}

// collectDemands reads what all bindings ask for, in a view of its own: a change of another binding brings that binding's
// own run about. A binding under deletion counts until it has let go. The API server is not asked about the Services of
// others, so that a run does not wait for answers about them. Unclear, by their place in the list, are those whose Service is
// not held here while their own runs do not believe that it is gone.
func (r *Reconciler) collectDemands(ctx context.Context, me Key, leaving bool) (out []bindingplan.Demand, unclear []int, _ error) {
	own, others := r.Cluster.View().Unsubscribed(), r.Cluster.View().Informed()
	for _, b := range cluster.List[*elbv2.TargetGroupBinding](others, cluster.Query{Kind: cluster.KindBinding}) {
		key := Key{Namespace: b.Namespace, Name: b.Name}
		claimed := slices.Contains(b.Finalizers, naming.BindingFinalizer)
		if b.Spec.Networking == nil || leaving && key == me || b.DeletionTimestamp != nil && !claimed {
			continue
		}
		a := bindingplan.Demand{Key: key, Ref: targets.Ref(b), Leaving: b.DeletionTimestamp != nil}
		w, err := r.described(ctx, b)
		if err != nil {
			switch class := r.Cloud.Class(err); {
			case class == engine.Gone, class == engine.Invalid:
				continue // no target group, no traffic
			case !claimed:
				continue // no rule was ever made for it
			}
			a.Lost = true
			out = append(out, a)
			continue
		}
		v := others
		if key == me {
			v = own
		}
		found := targets.Resolve(v, w, r.Targets)
		a.Demand = targets.Ask(v, w, found)
		a.Faulty = a.Faulty || found.Faulty
		a.Lost = a.Lost || found.Blind
		if found.NotFound && key != me && claimed && !a.Leaving && !r.memory.get(key).absent(r.Now()) {
			unclear = append(unclear, len(out))
		}
		out = append(out, a)
	}
	return out, unclear, errors.Join(own.Err(), others.Err())
}

// changeGroup changes the rules of one group. A rule that AWS refuses does not keep the others
// out, and at the quota of rules the old ones go first.
func (r *Reconciler) changeGroup(ctx context.Context, c bindingplan.GroupChange) (changed bool, err error) {
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
