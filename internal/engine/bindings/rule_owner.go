package bindings

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// ruleOwner holds the desired rules of the security groups of nodes and pods: the rules that each binding needs, and the
// security groups that are still to be compared with AWS. It makes no calls to AWS. It ensures that only one run at a time
// changes the rules of a security group.
//
// Only a run of a binding changes the rules that the binding needs, before it registers targets and after it has deregistered
// targets, so that no run of another binding removes a rule that is still needed. The rules of all bindings that have had no
// run in this process are read once.
type ruleOwner struct {
	mu                       sync.Mutex
	contributions            *bindingplan.RuleAggregate
	contributionsComplete    bool // contributions also has those of bindings that have had no run in this process
	byBinding                map[Key]contributor
	uncomparedSecurityGroups map[string]bool          // security groups that are still to be compared, for no particular binding
	securityGroupLocks       map[string]chan struct{} // security groups whose rules are being changed, closed when that ends
	knownSecurityGroupIDs    map[string]bool          // security groups that have had rules of bindings; they may lack the tag of the cluster

	nodeSecurityGroups map[string]*bindingplan.NodeSecurityGroups // by the selector that matches the nodes
}

// contributor is what is remembered about a binding that needs rules. It is not changed in place: a change stores a copy of
// its map.
type contributor struct {
	// hasRun reports whether a run of the binding has found the rules that it needs.
	hasRun bool
	// unsyncedSecurityGroups are the security groups that are still to be compared in a run of the binding.
	unsyncedSecurityGroups map[string]bool
	// allUnsynced reports whether all security groups are to be compared.
	allUnsynced bool
}

func newRuleOwner() *ruleOwner {
	return &ruleOwner{
		contributions: bindingplan.NewRuleAggregate(), byBinding: map[Key]contributor{}, uncomparedSecurityGroups: map[string]bool{}, securityGroupLocks: map[string]chan struct{}{},
		knownSecurityGroupIDs: map[string]bool{}, nodeSecurityGroups: map[string]*bindingplan.NodeSecurityGroups{},
	}
}

// nodeSecurityGroupsOf returns the security groups of the nodes that a selector matches, as they were last found; nil if
// they are not known.
func (o *ruleOwner) nodeSecurityGroupsOf(selector string) *bindingplan.NodeSecurityGroups {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.nodeSecurityGroups[selector]
}

// maxSelectors is the maximum number of selectors that are remembered, because users can write any number of them.
const maxSelectors = 32

// noteNodeSecurityGroups remembers the security groups of the nodes that a selector matches.
func (o *ruleOwner) noteNodeSecurityGroups(selector string, g *bindingplan.NodeSecurityGroups) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.nodeSecurityGroups) >= maxSelectors && o.nodeSecurityGroups[selector] == nil {
		clear(o.nodeSecurityGroups)
	}
	o.nodeSecurityGroups[selector] = g
}

// isComplete reports whether addMissingRules has added the rules of all bindings.
func (o *ruleOwner) isComplete() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.contributionsComplete
}

// mayHaveRules reports whether a binding needs rules, or may have needed rules in an earlier process.
func (o *ruleOwner) mayHaveRules(key Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, _ := o.contributions.Get(key)
	return !c.Empty()
}

// addMissingRules adds the rules of the bindings that have had no run. all are the rules that were found for all bindings.
// It returns the bindings that were added, and the bindings that have to run: those that now need other rules than their
// last run has found, and those whose rules are not known, so that no rule is removed until they are known. by is the
// binding whose run makes this read first; all security groups are compared in that run.
func (o *ruleOwner) addMissingRules(by Key, all map[Key]bindingplan.RequestedRules) (added, run []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.contributionsComplete && by != (Key{}) {
		o.addUnsynced(by, nil, true)
	}
	for key, a := range all {
		was, _ := o.contributions.Get(key)
		switch {
		case !o.byBinding[key].hasRun:
			o.setContribution(key, a.Contribution)
			added = append(added, key)
			if !a.Complete {
				run = append(run, key)
			}
		case a.Complete && !(a.Rules.IsSubsetOf(was.Rules) && was.Rules.IsSubsetOf(a.Rules)):
			run = append(run, key)
		}
	}
	o.contributionsComplete = true
	return added, run
}

// contribute sets the rules that a binding needs, as its run has determined them. If keeps is true, the earlier rules are
// retained too. heirs are other bindings with the same targets. They get the rules that this binding no longer needs,
// because they may need these rules until their next run; these heirs are returned, so that they run.
func (o *ruleOwner) contribute(key Key, a bindingplan.RequestedRules, keeps bool, heirs []Key) (run []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, had := o.contributions.Get(key)
	x := o.byBinding[key]
	c := a.Contribution
	if !a.Complete || keeps {
		c = c.WithPreviousRetained(was)
		c.HoldsAll = c.HoldsAll || keeps && had && !x.hasRun // the old targets are those of an earlier process
	}
	gone := was.Rules.Without(c.Rules)
	if !x.hasRun {
		gone = was.AllRules().Without(c.Rules) // otherwise two bindings would hand a rule to each other without end
	}
	if len(gone) > 0 {
		for _, heir := range heirs {
			has, _ := o.contributions.Get(heir)
			o.setContribution(heir, has.WithInheritedRules(gone))
			run = append(run, heir)
		}
	}
	if !x.hasRun {
		o.addUnsynced(key, c.Rules.SecurityGroups(), false)
	}
	o.setContribution(key, c)
	x = o.byBinding[key]
	x.hasRun = true
	o.byBinding[key] = x
	return run
}

// setContribution sets the rules that a binding needs. The caller holds the lock.
func (o *ruleOwner) setContribution(key Key, c bindingplan.Contribution) {
	affected := o.contributions.Set(key, c)
	o.addUnsynced(key, affected.Groups, affected.All)
	for r := range c.Rules {
		o.knownSecurityGroupIDs[r.Group] = true
	}
}

// addUnsynced adds security groups, or all, to those that are to be compared in a run of a binding. The caller holds the lock.
func (o *ruleOwner) addUnsynced(key Key, groups map[string]bool, all bool) {
	x := o.byBinding[key]
	x.allUnsynced = x.allUnsynced || all
	if len(groups) > 0 {
		x.unsyncedSecurityGroups = maps.Clone(x.unsyncedSecurityGroups)
		if x.unsyncedSecurityGroups == nil {
			x.unsyncedSecurityGroups = map[string]bool{}
		}
		maps.Copy(x.unsyncedSecurityGroups, groups)
	}
	o.byBinding[key] = x
}

// forget removes a binding that does not exist any more.
func (o *ruleOwner) forget(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropContribution(key)
}

// dropContribution removes the rules that a binding needs. The caller holds the lock.
func (o *ruleOwner) dropContribution(key Key) {
	affected := o.contributions.Drop(key)
	if affected.All {
		maps.Copy(o.uncomparedSecurityGroups, o.knownSecurityGroupIDs)
	}
	maps.Copy(o.uncomparedSecurityGroups, affected.Groups)
	maps.Copy(o.uncomparedSecurityGroups, o.byBinding[key].unsyncedSecurityGroups)
	delete(o.byBinding, key)
}

// pendingSecurityGroups are the security groups that a run of a binding compares. required are the security groups with
// rules of the binding: if one of them fails, the run fails. optional are the security groups that the binding no longer
// needs, and those that are to be compared for no particular binding.
type pendingSecurityGroups struct {
	required, optional []string // each ascending
	all                bool     // all security groups are compared first
}

// pendingSecurityGroupsOf returns the security groups that a run of a binding compares. again reports whether the security
// groups with rules of the binding are compared even if they have not changed.
func (o *ruleOwner) pendingSecurityGroupsOf(key Key, again bool) pendingSecurityGroups {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, _ := o.contributions.Get(key)
	x, has := o.byBinding[key], c.Rules.SecurityGroups()
	d := pendingSecurityGroups{all: x.allUnsynced}
	mine, others := map[string]bool{}, map[string]bool{}
	for g := range x.unsyncedSecurityGroups {
		if has[g] {
			mine[g] = true
		} else {
			others[g] = true
		}
	}
	if again {
		maps.Copy(mine, has)
	}
	if len(mine)+len(others) > 0 || x.allUnsynced {
		maps.Copy(others, o.uncomparedSecurityGroups)
	}
	maps.DeleteFunc(others, func(g string, _ bool) bool { return mine[g] })
	d.required, d.optional = slices.Sorted(maps.Keys(mine)), slices.Sorted(maps.Keys(others))
	return d
}

// noteSynced notes that a security group was compared in a run of a binding, and has the desired rules.
func (o *ruleOwner) noteSynced(key Key, group string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.uncomparedSecurityGroups, group)
	if x := o.byBinding[key]; x.unsyncedSecurityGroups[group] {
		x.unsyncedSecurityGroups = maps.Clone(x.unsyncedSecurityGroups)
		delete(x.unsyncedSecurityGroups, group)
		o.byBinding[key] = x
	}
}

// noteAllSynced notes that all security groups were compared in a run of a binding.
func (o *ruleOwner) noteAllSynced(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if x, ok := o.byBinding[key]; ok {
		x.allUnsynced = false
		o.byBinding[key] = x
	}
}

// noteUncompared notes that a security group is still to be compared, by the next run of any binding that changes rules.
func (o *ruleOwner) noteUncompared(group string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.uncomparedSecurityGroups[group] = true
}

// lockSecurityGroup locks the rules of a security group until end is called. If another run has locked them, it waits for
// that run, or returns a nil end if wait is false.
func (o *ruleOwner) lockSecurityGroup(ctx context.Context, group string, wait bool) (end func(), err error) {
	for {
		o.mu.Lock()
		other := o.securityGroupLocks[group]
		if other == nil {
			done := make(chan struct{})
			o.securityGroupLocks[group] = done
			o.mu.Unlock()
			return func() {
				o.mu.Lock()
				defer o.mu.Unlock()
				delete(o.securityGroupLocks, group)
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

// changeOf returns the change after which a security group has exactly the rules that all bindings need.
func (o *ruleOwner) changeOf(g EndpointSecurityGroup, opts bindingplan.RuleOptions) bindingplan.SecurityGroupChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.contributions.ChangeOf(g, opts)
}

// knownSecurityGroups returns the security groups that have had rules of bindings.
func (o *ruleOwner) knownSecurityGroups() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.knownSecurityGroupIDs))
}

// keysForSecurityGroups returns the bindings that need rules of any of the security groups.
func (o *ruleOwner) keysForSecurityGroups(groups []string) []Key {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.contributions.BindingsRequesting(groups)
}
