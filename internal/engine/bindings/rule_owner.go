package bindings

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// ruleOwner owns the rules of the security groups of nodes and pods: what each binding asks for, and what of that is still to
// be compared with AWS. Nothing of it waits for AWS, but that the rules of one security group are changed by one run at a time.
//
// What a binding asks for is changed by its own runs alone, before they register targets and after they have taken targets
// out, so that no run of another takes a rule away that it needs. What bindings asked for that no run of this process has seen
// yet is read once for all of them.
type ruleOwner struct {
	mu     sync.Mutex
	sum    *bindingplan.Aggregate
	whole  bool // what bindings asked for before they have had a run is in sum
	of     map[Key]asker
	left   map[string]bool          // security groups that are still to be compared, for no binding
	busy   map[string]chan struct{} // security groups whose rules are being changed, closed when that ends
	groups map[string]bool          // security groups that have carried rules, which may lack the tag of the cluster

	nodes map[string]*bindingplan.NodeGroups // by selector
}

// asker is what is remembered of a binding that asks for rules. It is a value, whose map is not changed.
type asker struct {
	// own: a run of the binding has found what it asks for.
	own bool
	// unsynced are the security groups that are to be compared on its behalf, or all.
	unsynced map[string]bool
	all      bool
}

func newRuleOwner() *ruleOwner {
	return &ruleOwner{
		sum: bindingplan.NewAggregate(), of: map[Key]asker{}, left: map[string]bool{}, busy: map[string]chan struct{}{},
		groups: map[string]bool{}, nodes: map[string]*bindingplan.NodeGroups{},
	}
}

// nodesOf returns the security groups of the nodes that a selector takes, as they were found last; nil if none were.
func (o *ruleOwner) nodesOf(selector string) *bindingplan.NodeGroups {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.nodes[selector]
}

// mostSelectors bounds the selectors that are remembered: they are what users choose.
const mostSelectors = 32

func (o *ruleOwner) noteNodes(selector string, g *bindingplan.NodeGroups) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.nodes) >= mostSelectors && o.nodes[selector] == nil {
		clear(o.nodes)
	}
	o.nodes[selector] = g
}

// isComplete reports whether what all bindings ask for is known, as far as it can be.
func (o *ruleOwner) isComplete() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.whole
}

// mayAsk reports whether a binding has asked for rules, or may have.
func (o *ruleOwner) mayAsk(key Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, _ := o.sum.Of(key)
	return !c.Empty()
}

// addMissing adds what a pass over all bindings has found, for those that have had no run. It returns the bindings that were
// added, and those that are to be run: they ask for other rules than their last run has found, or what they ask for
// is not known, so that no rule is taken away until it is. All groups are to be compared for who makes the first pass.
func (o *ruleOwner) addMissing(by Key, all map[Key]bindingplan.AskedRules) (taken, run []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.whole && by != (Key{}) {
		o.toSync(by, nil, true)
	}
	for key, a := range all {
		was, _ := o.sum.Of(key)
		switch {
		case !o.of[key].own:
			o.set(key, a.Contribution)
			taken = append(taken, key)
			if !a.Complete {
				run = append(run, key)
			}
		case a.Complete && !(a.Rules.IsSubsetOf(was.Rules) && was.Rules.IsSubsetOf(a.Rules)):
			run = append(run, key)
		}
	}
	o.whole = true
	return taken, run
}

// contribute records the rules that a run of a binding has found that it asks for. Heirs are other bindings with the same
// targets: until their next runs they need what this one gives up, which is what is returned.
func (o *ruleOwner) contribute(key Key, a bindingplan.AskedRules, keeps bool, heirs []Key) (run []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, had := o.sum.Of(key)
	x := o.of[key]
	c := a.Contribution
	if !a.Complete || keeps {
		c = c.Keeping(was)
		c.HoldsAll = c.HoldsAll || keeps && had && !x.own // the old targets are those of an earlier process
	}
	gone := was.Rules.Without(c.Rules)
	if !x.own {
		gone = was.All().Without(c.Rules) // otherwise two bindings would hand a rule over for ever
	}
	if len(gone) > 0 {
		for _, heir := range heirs {
			has, _ := o.sum.Of(heir)
			o.set(heir, has.Inheriting(gone))
			run = append(run, heir)
		}
	}
	if !x.own {
		o.toSync(key, c.Rules.Groups(), false)
	}
	o.set(key, c)
	x = o.of[key]
	x.own = true
	o.of[key] = x
	return run
}

// set needs the lock.
func (o *ruleOwner) set(key Key, c bindingplan.Contribution) {
	affected := o.sum.Set(key, c)
	o.toSync(key, affected.Groups, affected.All)
	for r := range c.Rules {
		o.groups[r.Group] = true
	}
}

// toSync needs the lock.
func (o *ruleOwner) toSync(key Key, groups map[string]bool, all bool) {
	x := o.of[key]
	x.all = x.all || all
	if len(groups) > 0 {
		x.unsynced = maps.Clone(x.unsynced)
		if x.unsynced == nil {
			x.unsynced = map[string]bool{}
		}
		maps.Copy(x.unsynced, groups)
	}
	o.of[key] = x
}

// forget is for a binding that is gone.
func (o *ruleOwner) forget(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(key)
}

// drop needs the lock.
func (o *ruleOwner) drop(key Key) {
	affected := o.sum.Drop(key)
	if affected.All {
		maps.Copy(o.left, o.groups)
	}
	maps.Copy(o.left, affected.Groups)
	maps.Copy(o.left, o.of[key].unsynced)
	delete(o.of, key)
}

// due is what is to be compared for a run of a binding: the groups that it asks for rules of, if they are to be compared again
// whatever is remembered, those that it has left or found new, and those that are compared for no binding.
type due struct {
	mine, others []string // each ascending
	all          bool
}

func (o *ruleOwner) due(key Key, again bool) due {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, _ := o.sum.Of(key)
	x, has := o.of[key], c.Rules.Groups()
	d := due{all: x.all}
	mine, others := map[string]bool{}, map[string]bool{}
	for g := range x.unsynced {
		if has[g] {
			mine[g] = true
		} else {
			others[g] = true
		}
	}
	if again {
		maps.Copy(mine, has)
	}
	if len(mine)+len(others) > 0 || x.all {
		maps.Copy(others, o.left)
	}
	maps.DeleteFunc(others, func(g string, _ bool) bool { return mine[g] })
	d.mine, d.others = slices.Sorted(maps.Keys(mine)), slices.Sorted(maps.Keys(others))
	return d
}

// synced notes that a security group has the rules that were asked for when that was compared for a binding.
func (o *ruleOwner) synced(key Key, group string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.left, group)
	if x := o.of[key]; x.unsynced[group] {
		x.unsynced = maps.Clone(x.unsynced)
		delete(x.unsynced, group)
		o.of[key] = x
	}
}

// syncedAll notes that all security groups were looked at for a binding.
func (o *ruleOwner) syncedAll(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if x, ok := o.of[key]; ok {
		x.all = false
		o.of[key] = x
	}
}

// noteUncompared notes that a security group is still to be compared, though for no binding.
func (o *ruleOwner) noteUncompared(group string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left[group] = true
}

// begin waits for the run that changes the rules of a security group, if there is one, and keeps others from it until end is
// called, which is nil if there is one and it is not waited for.
func (o *ruleOwner) begin(ctx context.Context, group string, wait bool) (end func(), err error) {
	for {
		o.mu.Lock()
		other := o.busy[group]
		if other == nil {
			done := make(chan struct{})
			o.busy[group] = done
			o.mu.Unlock()
			return func() {
				o.mu.Lock()
				defer o.mu.Unlock()
				delete(o.busy, group)
				close(done)
			}, nil
		}
		o.mu.Unlock()
		if !wait {
			return nil, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// change compares a security group with what is asked of it now.
func (o *ruleOwner) change(g EndpointGroup, opts bindingplan.RuleOptions) bindingplan.GroupChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sum.Change(g, opts)
}

// knownGroups returns the security groups that have carried rules.
func (o *ruleOwner) knownGroups() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.groups))
}

// keysForGroups returns the bindings that ask for rules of some security groups.
func (o *ruleOwner) keysForGroups(groups []string) []Key {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sum.With(groups)
}
