package bindings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// ruleReport is what a binding has to know of the rules after they were brought up to date.
type ruleReport struct {
	mine     bool // all rules that the binding asks for are there
	faulty   bool // some cannot be told until the binding is mended
	others   bool // something is amiss with those of other bindings
	changed  bool
	rules    ruleSet      // those that the binding asks for, as far as they are known
	findings finding.List // about the binding
}

// SyncRules makes the rules of all endpoint groups equal to what the bindings of the cluster ask
// for together. Runs over bindings do it by themselves; this is for the start of the process, so
// that rules go whose last binding went while nobody was there to see it. It is to be called once
// the cluster's cache is synced, and is to be tried again after an error.
func (r *Reconciler) SyncRules(ctx context.Context) error {
	_, err := r.syncRules(ctx, Key{}, false, 0)
	return err
}

// syncRules does so on behalf of one binding, which is left out if it is leaving. What it compares is
// not older than age, if that is above zero.
func (r *Reconciler) syncRules(ctx context.Context, me Key, leaving bool, age time.Duration) (ruleReport, error) {
	epoch := r.ruleEpoch()
	p, err := r.planRules(ctx, me, leaving, age)
	if err != nil {
		return p.report, err
	}
	if len(p.changes) == 0 {
		r.noteAllRuled(p.known, epoch)
		return p.report, nil
	}
	// One run at a time changes rules, and plans them from a view that it took since: a run with
	// an older view would take away what another has just added.
	select {
	case r.rules <- struct{}{}:
	case <-ctx.Done():
		return p.report, ctx.Err()
	}
	defer func() { <-r.rules }()
	epoch = r.ruleEpoch()
	if p, err = r.planRules(ctx, me, leaving, age); err != nil {
		return p.report, err
	}
	err = r.changeGroups(ctx, &p)
	if err == nil && !p.report.others {
		r.noteAllRuled(p.known, epoch+1)
	}
	return p.report, err
}

// changeGroups carries a plan out. The error is that of groups of the binding that asks.
func (r *Reconciler) changeGroups(ctx context.Context, p *rulesPlan) error {
	defer r.beginRuleChange()()
	var errs []error
	for _, c := range p.changes {
		changed, err := r.changeGroup(ctx, c)
		p.report.changed = p.report.changed || changed
		switch {
		case err == nil:
		case p.mine[c.group]:
			errs = append(errs, err)
		default:
			p.report.others = true
		}
	}
	err := errors.Join(errs...)
	p.report.mine = p.report.mine && err == nil
	return err
}

// rulesPlan is what has to change in endpoint groups.
type rulesPlan struct {
	changes []groupChange
	mine    map[string]bool // groups of the binding that asks
	// known are the rules of the other bindings that are there once the changes are made; none where a rule that
	// no binding asks for may be left.
	known  map[Key]ruleSet
	report ruleReport
}

type groupChange struct {
	group             string
	authorize, revoke []model.IngressRule
	total             int // rules that the group has then
}

// planRules compares what all bindings of the present view ask for with what is there.
func (r *Reconciler) planRules(ctx context.Context, me Key, leaving bool, age time.Duration) (rulesPlan, error) {
	p := rulesPlan{mine: map[string]bool{}, known: map[Key]ruleSet{}, report: ruleReport{mine: true}}
	asks, err := r.collectAsks(ctx, me, leaving)
	if err != nil {
		return p, err
	}
	query := queryFor(asks)
	query.MaxAge = age
	found, err := r.Cloud.Interfaces(ctx, query)
	if err != nil {
		return p, fmt.Errorf("find network interfaces: %w", err)
	}
	asked := map[string][]model.IngressRule{}
	held := map[string]bool{} // groups from which nothing may be taken away
	// The same for all: the group of some endpoint is not known, or a target serves on that is not
	// an endpoint any more.
	lost := r.anyServing()
	for _, a := range asks {
		isMine := a.key == me
		lost = lost || a.demand.Lost
		if isMine {
			p.report.findings.Add(a.demand.Findings...)
			p.report.mine, p.report.faulty = !a.demand.Lost && !a.demand.Faulty, a.demand.Faulty
		}
		rules, complete := ruleSet{}, !a.leaving && !a.demand.Lost && !a.demand.Faulty
		for _, n := range a.demand.Needs {
			group, candidates, err := r.groupOf(n, found)
			if err != nil {
				complete = false
				lost = lost || len(candidates) == 0
				for _, c := range candidates {
					held[c.ID] = true
				}
				if isMine {
					p.report.mine = false
					p.report.findings.Add(unclear(a.ref, err))
				}
				continue
			}
			asked[group] = append(asked[group], n.Rules...)
			if a.demand.Faulty {
				held[group] = true
			}
			p.mine[group] = p.mine[group] || isMine
			rules.add(group, n.Rules)
		}
		switch {
		case isMine:
			p.report.rules = rules
		case complete:
			p.known[a.key] = rules
		}
	}
	p.report.findings = p.report.findings.Sorted()
	if lost || len(held) > 0 {
		p.known = nil
	}
	groups, err := r.Cloud.EndpointGroups(ctx, r.remember(asked), age)
	if err != nil {
		return p, fmt.Errorf("read security groups of nodes and pods: %w", err)
	}
	slices.SortFunc(groups, func(a, b EndpointGroup) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	for _, g := range groups {
		want := network.AggregateRules(asked[g.ID], !r.UnmergedRules)
		authorize, revoke := network.EndpointDiff(want, g.Ingress, !lost && !held[g.ID])
		if len(authorize)+len(revoke) > 0 {
			p.changes = append(p.changes, groupChange{g.ID, authorize, revoke, len(g.Ingress) + len(authorize) - len(revoke)})
		}
	}
	return p, nil
}

func unclear(b finding.Ref, err error) finding.Finding {
	fix := "tag exactly one of the security groups for the cluster"
	if errors.Is(err, errNoInterface) {
		fix = "this is tried again; if it lasts, check that the address belongs to the VPC"
	}
	return finding.Finding{
		Object: b, Field: "spec.networking", Reason: finding.EndpointGroupUnclear, Severity: finding.Error,
		Message: err.Error(), Fix: fix,
	}
}

// errNoInterface says that AWS does not know the address of an endpoint, which may be a moment old.
var errNoInterface = errors.New("AWS has no network interface with the address")

// ask is the demand of one binding.
type ask struct {
	key     Key
	ref     finding.Ref
	demand  targets.Demand
	leaving bool // it is being deleted
}

// collectAsks reads what all bindings ask for, in a view of its own: a change of another binding
// brings that binding's own run about. A binding under deletion counts until it has let go.
func (r *Reconciler) collectAsks(ctx context.Context, me Key, leaving bool) ([]ask, error) {
	v := r.Cluster.View()
	var out []ask
	for _, b := range cluster.List[*elbv2.TargetGroupBinding](v, cluster.Query{Kind: cluster.KindBinding}) {
		key := Key{Namespace: b.Namespace, Name: b.Name}
		if b.Spec.Networking == nil || leaving && key == me ||
			b.DeletionTimestamp != nil && !slices.Contains(b.Finalizers, naming.BindingFinalizer) {
			continue
		}
		a := ask{key: key, ref: targets.Ref(b), leaving: b.DeletionTimestamp != nil}
		w, err := r.described(ctx, b)
		if err != nil {
			switch class := r.Cloud.Class(err); {
			case class == engine.Gone, class == engine.Invalid:
				continue // no target group, no traffic
			case !slices.Contains(b.Finalizers, naming.BindingFinalizer):
				continue // no rule was ever made for it
			}
			a.demand.Lost = true
			out = append(out, a)
			continue
		}
		found := targets.Resolve(v, w, r.Targets)
		a.demand = targets.Ask(v, w, found.Endpoints)
		a.demand.Faulty = a.demand.Faulty || found.Faulty
		a.demand.Lost = a.demand.Lost || found.Blind
		out = append(out, a)
	}
	return out, v.Err()
}

// queryFor gathers all places into one question.
func queryFor(asks []ask) InterfaceQuery {
	instances, ids, addresses := map[string]bool{}, map[string]bool{}, map[string]bool{}
	carried := map[string][]string{}
	for _, a := range asks {
		for _, n := range a.demand.Needs {
			for i, p := range n.Places {
				switch {
				case p.Instance != "":
					instances[p.Instance] = true
					// Behind another place it is expected to carry nothing.
					if p.On != "" && i == 0 {
						carried[p.Instance] = append(carried[p.Instance], p.On)
					}
				case p.Interface != "":
					ids[p.Interface] = true
				case p.Address != "":
					addresses[p.Address] = true
				}
			}
		}
	}
	for i := range carried {
		slices.Sort(carried[i])
		carried[i] = slices.Compact(carried[i])
	}
	return InterfaceQuery{
		Instances: slices.Sorted(maps.Keys(instances)), Carried: carried,
		IDs: slices.Sorted(maps.Keys(ids)), Addresses: slices.Sorted(maps.Keys(addresses)),
	}
}

// groupOf finds the security group that carries the rules of an endpoint, and the groups among
// which it is.
func (r *Reconciler) groupOf(n targets.Need, found Interfaces) (string, []network.InterfaceGroup, error) {
	for _, p := range n.Places {
		if eni, ok := interfaceAt(p, found); ok {
			group, err := network.ChooseEndpointGroup(r.ClusterName, eni.ID, eni.Groups, r.GroupTags)
			return group, eni.Groups, err
		}
	}
	return "", nil, fmt.Errorf("%w of %s, so no security group is opened for it", errNoInterface, n.Endpoint)
}

func interfaceAt(p targets.Place, found Interfaces) (network.Interface, bool) {
	switch {
	case p.Interface != "":
		eni, ok := found.ByID[p.Interface]
		return eni, ok && eni.Carries(p.On)
	case p.Address != "":
		eni, ok := found.ByAddress[p.Address]
		return eni, ok && (p.On == "" || eni.Carries(p.On))
	case p.On != "":
		return network.InterfaceOf(p.On, found.OfInstance[p.Instance])
	}
	return network.Primary(found.OfInstance[p.Instance])
}

// remember adds the groups to those that have carried rules, and returns all of them. A group may
// lack the tag by which the cluster's groups are found.
func (r *Reconciler) remember(asked map[string][]model.IngressRule) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g := range asked {
		r.groups[g] = true
	}
	return slices.Sorted(maps.Keys(r.groups))
}

// changeGroup changes the rules of one group. A rule that AWS refuses does not keep the others
// out, and at the quota of rules the old ones go first.
func (r *Reconciler) changeGroup(ctx context.Context, c groupChange) (changed bool, err error) {
	send := func(authorize, revoke []model.IngressRule) error {
		if len(authorize)+len(revoke) == 0 {
			return nil
		}
		if err := r.fence(); err != nil {
			return err
		}
		if err := r.Cloud.ChangeEndpointRules(ctx, c.group, authorize, revoke); err != nil {
			return fmt.Errorf("change rules of security group %s: %w", c.group, err)
		}
		changed = true
		r.did(Authorized, c.group, ruleNames(authorize))
		r.did(Revoked, c.group, ruleNames(revoke))
		return nil
	}
	if err = send(c.authorize, c.revoke); err == nil {
		return changed, nil
	}
	switch r.Cloud.Class(err) {
	case engine.Quota:
		if err := send(nil, c.revoke); err != nil {
			return changed, err
		}
		if err := send(c.authorize, nil); err != nil {
			return changed, fmt.Errorf("%w; the group would have %d rules", err, c.total)
		}
		return changed, nil
	case engine.Invalid, engine.Gone:
		if len(c.authorize) < 2 {
			return changed, err
		}
		var errs []error
		for _, rule := range c.authorize {
			errs = append(errs, send([]model.IngressRule{rule}, nil))
		}
		if err := errors.Join(errs...); err != nil {
			return changed, err
		}
		return changed, send(nil, c.revoke)
	}
	return changed, err
}
