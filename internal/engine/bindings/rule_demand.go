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
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// ruleOptions returns the options for planning rules.
func (r ruleSyncer) ruleOptions() bindingplan.RuleOptions {
	return bindingplan.RuleOptions{ClusterName: r.ClusterName, SecurityGroupTags: r.SecurityGroupTags, KeepPortsSeparate: r.UnmergedRules, Now: r.Clock.Now()}
}

// resolveRequestedRules finds the security groups of the endpoints of bindings. It returns the rules that each binding
// needs, in the order of demands. If age is positive, the answers of AWS must not be older than age.
func (r ruleSyncer) resolveRequestedRules(ctx context.Context, age time.Duration, demands ...targets.RuleDemand) ([]bindingplan.RequestedRules, error) {
	query := bindingplan.ENIQueryFor(demands...)
	query.MaxAge = age
	found, err := r.findENIs(ctx, query)
	if err != nil {
		return nil, err
	}
	out := make([]bindingplan.RequestedRules, len(demands))
	for i, d := range demands {
		if d.Nodes.Len() == 0 {
			out[i] = bindingplan.RulesOfPods(d, found, r.ruleOptions())
			continue
		}
		g, err := r.findNodeSecurityGroups(ctx, d.Nodes, age)
		if err != nil {
			return nil, err
		}
		out[i] = bindingplan.RulesOfNodes(d, g)
	}
	return out, nil
}

// findNodeSecurityGroups finds the security groups of the nodes in list. It only reads the ENIs of nodes that have changed
// since the last call for the same selector. If age is positive, it reads the ENIs of all nodes, and the answers must not be
// older than age.
func (r ruleSyncer) findNodeSecurityGroups(ctx context.Context, list *targets.NodeList, age time.Duration) (*bindingplan.NodeSecurityGroups, error) {
	old := r.sharedRules.nodeSecurityGroupsOf(list.Selector())
	switch {
	case age > 0:
		old = nil
	case old.IsCurrent(list, r.Clock.Now()):
		return old, nil
	}
	g, query := bindingplan.NewNodeSecurityGroups(list, old, r.Clock.Now())
	query.MaxAge = age
	found, err := r.findENIs(ctx, query)
	if err != nil {
		return nil, err
	}
	g.AddENIs(found, r.ruleOptions())
	r.sharedRules.recordNodeSecurityGroups(list.Selector(), g)
	return g, nil
}

// findENIs finds ENIs. It makes no call if the query is empty.
func (r ruleSyncer) findENIs(ctx context.Context, q ENIQuery) (ENIs, error) {
	if q.Empty() {
		return ENIs{}, nil
	}
	found, err := r.Cloud.ENIs(ctx, q)
	if err != nil {
		return found, fmt.Errorf("determine the security groups of nodes and pods: %w", err)
	}
	return found, nil
}

// rulesOfAllBindings returns the rules that each binding needs. If leaving is true, binding self is left out. No view
// subscribes to the bindings, because a change of one of them starts a run of that binding. A binding that is being deleted
// is included until its finalizer is removed. The Services of bindings other than self are read only from the informer
// cache, so that a run does not wait for the API server. If draft is true, a missing Service is treated as deleted
// immediately.
func (r ruleSyncer) rulesOfAllBindings(ctx context.Context, self Key, leaving, draft bool) (map[Key]bindingplan.RequestedRules, error) {
	own, others := r.Cluster.View().Unsubscribed(), r.Cluster.View().CacheOnly()
	var demands []targets.RuleDemand
	for _, b := range cluster.List[*elbv2.TargetGroupBinding](others, cluster.Query{Kind: cluster.KindBinding}) {
		key := Key{Namespace: b.Namespace, Name: b.Name}
		claimed := slices.Contains(b.Finalizers, naming.BindingFinalizer)
		if b.Spec.Networking == nil || leaving && key == self || b.DeletionTimestamp != nil && !claimed {
			continue
		}
		d := targets.RuleDemand{Ref: targets.BindingRef(b)}
		w, err := r.completedBinding(ctx, b)
		if err != nil {
			switch class := r.Cloud.Class(err); {
			case class == failure.Gone, class == failure.Invalid:
				continue // a binding without a target group gets no traffic, so it needs no rules
			case !claimed:
				continue // no rule was added for a binding without the finalizer
			}
			d.ENIUnknown = true
			demands = append(demands, d)
			continue
		}
		v := others
		if key == self {
			v = own
		}
		found := targets.Resolve(v, w, r.Targets)
		d = targets.RuleDemandOf(v, w, found)
		d.Faulty = d.Faulty || found.Faulty
		d.ENIUnknown = d.ENIUnknown || found.SourceMissing || !draft && found.BackendMissing && claimed && b.DeletionTimestamp == nil
		demands = append(demands, d)
	}
	if err := errors.Join(own.Err(), others.Err()); err != nil {
		return nil, err
	}
	requested, err := r.resolveRequestedRules(ctx, 0, demands...)
	if err != nil {
		return nil, err
	}
	out := make(map[Key]bindingplan.RequestedRules, len(requested))
	for i, a := range requested {
		out[Key{Namespace: demands[i].Ref.Namespace, Name: demands[i].Ref.Name}] = a
	}
	return out, nil
}

// draftRuleChanges returns the changes of security groups that the rules of all bindings require, and the rules that binding
// self needs. If leaving is true, the rules of self are left out. It changes nothing.
func (r ruleSyncer) draftRuleChanges(ctx context.Context, self Key, leaving bool) ([]bindingplan.SecurityGroupChange, bindingplan.RequestedRules, error) {
	all, err := r.rulesOfAllBindings(ctx, self, leaving, true)
	if err != nil {
		return nil, bindingplan.RequestedRules{}, err
	}
	sum, ids := bindingplan.NewRuleAggregate(), map[string]bool{}
	for key, a := range all {
		for g := range sum.Set(key, a.Contribution).Groups {
			ids[g] = true
		}
	}
	groups, err := r.readSecurityGroups(ctx, slices.Sorted(maps.Keys(ids)), 0)
	if err != nil {
		return nil, bindingplan.RequestedRules{}, err
	}
	own, ok := all[self]
	own.Complete = own.Complete || !ok
	return sum.ChangesOf(groups, r.ruleOptions()), own, nil
}

// DraftRuleChanges returns the changes of the security groups of nodes and pods that the rules of all bindings require. It
// changes nothing.
func (r *Reconciler) DraftRuleChanges(ctx context.Context) ([]bindingplan.SecurityGroupChange, error) {
	changes, _, err := ruleSyncer{r}.draftRuleChanges(ctx, Key{}, false)
	return changes, err
}
