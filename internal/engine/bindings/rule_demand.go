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
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

func (r rules) options() bindingplan.RuleOptions {
	return bindingplan.RuleOptions{ClusterName: r.ClusterName, GroupTags: r.GroupTags, Unmerged: r.UnmergedRules, Now: r.Clock.Now()}
}

// rulesAsked finds the security groups of the endpoints of bindings. What it finds is not older than age, if that is above
// zero.
func (r rules) rulesAsked(ctx context.Context, age time.Duration, demands ...bindingplan.Demand) ([]bindingplan.AskedRules, error) {
	query := bindingplan.QueryFor(demands...)
	query.MaxAge = age
	found, err := r.enis(ctx, query)
	if err != nil {
		return nil, err
	}
	out := make([]bindingplan.AskedRules, len(demands))
	for i, d := range demands {
		if d.Nodes.Len() == 0 {
			out[i] = bindingplan.RulesAsked(d, found, r.options())
			continue
		}
		g, err := r.nodeGroups(ctx, d.Nodes, age)
		if err != nil {
			return nil, err
		}
		out[i] = bindingplan.RulesOfNodes(d, g)
	}
	return out, nil
}

// targetGroupsOf finds the security groups of nodes, of which only those that have changed since the last time are looked at.
func (r rules) nodeGroups(ctx context.Context, list *targets.NodeList, age time.Duration) (*bindingplan.NodeGroups, error) {
	old := r.owner.nodesOf(list.Selector())
	switch {
	case age > 0:
		old = nil
	case old.Current(list, r.Clock.Now()):
		return old, nil
	}
	g, query := bindingplan.NewNodeGroups(list, old, r.Clock.Now())
	query.MaxAge = age
	found, err := r.enis(ctx, query)
	if err != nil {
		return nil, err
	}
	g.Find(found, r.options())
	r.owner.noteNodes(list.Selector(), g)
	return g, nil
}

func (r rules) enis(ctx context.Context, q ENIQuery) (ENIs, error) {
	if q.Empty() {
		return ENIs{}, nil
	}
	found, err := r.Cloud.ENIs(ctx, q)
	if err != nil {
		return found, fmt.Errorf("find network interfaces: %w", err)
	}
	return found, nil
}

// rulesOfAll reads what all bindings ask for, or all but one that is leaving, in a view of its own: a change of another
// binding triggers the run of that binding. A binding under deletion counts until it is released. The API server is not
// asked about the Services of others, so that a run does not wait for answers about them. In a draft, what is missing is
// taken for missing at once.
func (r rules) rulesOfAll(ctx context.Context, me Key, leaving, draft bool) (map[Key]bindingplan.AskedRules, error) {
	own, others := r.Cluster.View().Unsubscribed(), r.Cluster.View().Informed()
	var demands []bindingplan.Demand
	for _, b := range cluster.List[*elbv2.TargetGroupBinding](others, cluster.Query{Kind: cluster.KindBinding}) {
		key := Key{Namespace: b.Namespace, Name: b.Name}
		claimed := slices.Contains(b.Finalizers, naming.BindingFinalizer)
		if b.Spec.Networking == nil || leaving && key == me || b.DeletionTimestamp != nil && !claimed {
			continue
		}
		d := bindingplan.Demand{Key: key, Ref: targets.Ref(b)}
		w, err := r.described(ctx, b)
		if err != nil {
			switch class := r.Cloud.Class(err); {
			case class == engine.Gone, class == engine.Invalid:
				continue // no target group, no traffic
			case !claimed:
				continue // no rule was ever made for it
			}
			d.ENIUnknown = true
			demands = append(demands, d)
			continue
		}
		v := others
		if key == me {
			v = own
		}
		found := targets.Resolve(v, w, r.Targets)
		d.Demand = targets.DemandOf(v, w, found)
		d.Faulty = d.Faulty || found.Faulty
		d.ENIUnknown = d.ENIUnknown || found.SourceMissing || !draft && found.NotFound && claimed && b.DeletionTimestamp == nil
		demands = append(demands, d)
	}
	if err := errors.Join(own.Err(), others.Err()); err != nil {
		return nil, err
	}
	asked, err := r.rulesAsked(ctx, 0, demands...)
	if err != nil {
		return nil, err
	}
	out := make(map[Key]bindingplan.AskedRules, len(asked))
	for i, a := range asked {
		out[demands[i].Key] = a
	}
	return out, nil
}

// draftRules plans the rules of all bindings, and returns also what one of them asks for.
func (r rules) draft(ctx context.Context, me Key, leaving bool) ([]bindingplan.GroupChange, bindingplan.AskedRules, error) {
	all, err := r.rulesOfAll(ctx, me, leaving, true)
	if err != nil {
		return nil, bindingplan.AskedRules{}, err
	}
	sum, ids := bindingplan.NewAggregate(), map[string]bool{}
	for key, a := range all {
		for g := range sum.Set(key, a.Contribution).Groups {
			ids[g] = true
		}
	}
	groups, err := r.securityGroups(ctx, slices.Sorted(maps.Keys(ids)), 0)
	if err != nil {
		return nil, bindingplan.AskedRules{}, err
	}
	mine, ok := all[me]
	mine.Complete = mine.Complete || !ok
	return sum.Changes(groups, r.options()), mine, nil
}

// DraftRules plans the rules of the security groups of nodes and pods for all bindings, and changes nothing.
func (r *Reconciler) DraftRules(ctx context.Context) ([]bindingplan.GroupChange, error) {
	changes, _, err := rules{r}.draft(ctx, Key{}, false)
	return changes, err
}
