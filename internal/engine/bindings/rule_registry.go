package bindings

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// ruleRegistry has the desired rules of the security groups of nodes and pods: the rules that each binding needs, and the
// security groups that must still be compared with AWS. It also has a lock for each security group, so that only one run at
// a time changes its rules. It makes no calls to AWS.
//
// Only runs of a binding change the rules that the binding needs: before they register targets, and after they have
// deregistered targets. So no run of another binding removes a rule that is still needed. After the start of the process,
// the rules of the bindings that have not run yet are read once.
type ruleRegistry struct {
	mu            sync.Mutex
	contributions *bindingplan.RuleAggregate
	// contributionsComplete reports whether contributions includes the bindings that have not run in this process.
	contributionsComplete bool
	byBinding             map[Key]contributor
	// uncomparedSecurityGroups are the security groups that any run may compare with AWS, because their binding does not
	// exist any more or the last comparison failed.
	uncomparedSecurityGroups map[string]bool
	refusedChanges           map[string]refusedChange // by security group
	// securityGroupLocks has the security groups whose rules a run is changing. The channel is closed when the run has
	// finished.
	securityGroupLocks map[string]chan struct{}
	// knownSecurityGroupIDs are the security groups that have had rules of bindings, also those without the tag of the
	// cluster.
	knownSecurityGroupIDs map[string]bool
	// foundSecurityGroups are security groups that are not known, but have rules from security groups that the controller
	// created for the cluster, with these sources. An earlier process has probably added the rules. Only rules from these
	// sources are removed from them, because other clusters may have rules in them too. After this, they are forgotten.
	foundSecurityGroups map[string][]string

	nodeSecurityGroups map[string]*bindingplan.NodeSecurityGroups // by the selector that matches the nodes
}

// contributor is the state of a binding that needs rules. Its map is never changed in place: a change stores a copy.
type contributor struct {
	// hasRun reports whether a run of the binding in this process has determined the rules that it needs.
	hasRun bool
	// hasNeededRules reports whether a run of the binding in this process has determined that it needs rules. Otherwise the
	// security groups in which it had rules may be unknown.
	hasNeededRules bool
	// unsyncedSecurityGroups are the security groups that the next run of the binding must compare with AWS.
	unsyncedSecurityGroups map[string]bool
	// allUnsynced reports whether the next run of the binding must compare all security groups with AWS.
	allUnsynced bool
}

func newRuleOwner() *ruleRegistry {
	return &ruleRegistry{
		contributions: bindingplan.NewRuleAggregate(), byBinding: map[Key]contributor{}, uncomparedSecurityGroups: map[string]bool{}, refusedChanges: map[string]refusedChange{}, securityGroupLocks: map[string]chan struct{}{},
		knownSecurityGroupIDs: map[string]bool{}, foundSecurityGroups: map[string][]string{}, nodeSecurityGroups: map[string]*bindingplan.NodeSecurityGroups{},
	}
}

// nodeSecurityGroupsOf returns the security groups that were last stored for the nodes that a selector matches; nil if none
// are stored.
func (o *ruleRegistry) nodeSecurityGroupsOf(selector string) *bindingplan.NodeSecurityGroups {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.nodeSecurityGroups[selector]
}

// maxSelectors is the maximum number of node selectors whose security groups are stored. There is a limit because users can
// write any number of different selectors.
const maxSelectors = 32

// recordNodeSecurityGroups stores the security groups of the nodes that a selector matches.
func (o *ruleRegistry) recordNodeSecurityGroups(selector string, g *bindingplan.NodeSecurityGroups) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.nodeSecurityGroups) >= maxSelectors && o.nodeSecurityGroups[selector] == nil {
		clear(o.nodeSecurityGroups)
	}
	o.nodeSecurityGroups[selector] = g
}

// isComplete reports whether addMissingRules has added the rules of all bindings.
func (o *ruleRegistry) isComplete() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.contributionsComplete
}

// mayHaveRules reports whether the security groups may have rules for the binding, also from an earlier process.
func (o *ruleRegistry) mayHaveRules(key Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, _ := o.contributions.Get(key)
	return !c.Empty()
}

// addMissingRules adds the rules of the bindings that have not run in this process. all has the rules of all bindings. It
// returns the bindings that were added, and the bindings that have to run. A binding has to run if it needs other rules than
// its last run determined, or if its rules are not completely known: no rule is removed while rules are unknown. by is the
// binding whose run calls this method; zero if no run calls it. After the first call of addMissingRules, the run of by
// compares all security groups with AWS.
func (o *ruleRegistry) addMissingRules(by Key, all map[Key]bindingplan.RequestedRules) (added, run []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.contributionsComplete && by != (Key{}) {
		o.addUnsyncedSecurityGroups(by, nil, true)
	}
	for key, a := range all {
		was, _ := o.contributions.Get(key)
		switch {
		case !o.byBinding[key].hasRun:
			o.setRequestedRules(key, a.Contribution)
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

// updateRequestedRules sets the rules that a binding needs, as its run has determined them. If retainsPrevious is true, its
// previous rules are retained too. successors are other bindings that may have the same targets. They inherit the rules that
// this binding no longer needs, because they may need these rules until their next run. It returns the successors that have
// inherited rules and therefore have to run.
func (o *ruleRegistry) updateRequestedRules(key Key, a bindingplan.RequestedRules, retainsPrevious bool, successors []Key) (run []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, had := o.contributions.Get(key)
	x := o.byBinding[key]
	c := a.Contribution
	if !a.Complete || retainsPrevious {
		c = c.WithPreviousRetained(was)
		c.HoldsAll = c.HoldsAll || retainsPrevious && had && !x.hasRun // the rules of targets from an earlier process are not known
	}
	gone := was.Rules.Without(c.Rules)
	if !x.hasRun {
		// Retained rules are inherited only in the first run. In later runs, two bindings would pass them to each other
		// forever.
		gone = was.AllRules().Without(c.Rules)
	}
	if len(gone) > 0 {
		for _, successor := range successors {
			has, _ := o.contributions.Get(successor)
			o.setRequestedRules(successor, has.WithInheritedRules(gone))
			run = append(run, successor)
		}
	}
	if !x.hasRun {
		o.addUnsyncedSecurityGroups(key, c.Rules.SecurityGroups(), false)
	}
	o.setRequestedRules(key, c)
	x = o.byBinding[key]
	x.hasRun, x.hasNeededRules = true, x.hasNeededRules || len(c.Rules) > 0
	o.byBinding[key] = x
	return run
}

// setRequestedRules sets the rules that a binding needs, and records the security groups that its next run must compare with
// AWS. The caller holds the lock.
func (o *ruleRegistry) setRequestedRules(key Key, c bindingplan.Contribution) {
	affected := o.contributions.Set(key, c)
	o.addUnsyncedSecurityGroups(key, affected.Groups, affected.All)
	for r := range c.Rules {
		o.knownSecurityGroupIDs[r.Group] = true
		delete(o.foundSecurityGroups, r.Group)
	}
}

// hasNeededRules reports whether a run of a binding in this process has determined that it needs rules.
func (o *ruleRegistry) hasNeededRules(key Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byBinding[key].hasNeededRules
}

// recordFoundSecurityGroups records security groups that have rules from security groups of the controller, with these
// sources. The next run of a binding compares them with AWS.
func (o *ruleRegistry) recordFoundSecurityGroups(key Key, found map[string][]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	groups := map[string]bool{}
	for g, sources := range found {
		groups[g] = true
		if !o.knownSecurityGroupIDs[g] {
			all := slices.Sorted(slices.Values(slices.Concat(o.foundSecurityGroups[g], sources)))
			o.foundSecurityGroups[g] = slices.Compact(all)
		}
	}
	o.addUnsyncedSecurityGroups(key, groups, false)
}

// addUnsyncedSecurityGroups records security groups, or all of them, that the next run of a binding must compare with AWS.
// The caller holds the lock.
func (o *ruleRegistry) addUnsyncedSecurityGroups(key Key, groups map[string]bool, all bool) {
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

// forget removes a binding that does not exist any more, and the rules that it needs.
func (o *ruleRegistry) forget(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removeRequestedRules(key)
}

// removeRequestedRules removes a binding and the rules that it needs. The affected security groups become uncompared. The
// caller holds the lock.
func (o *ruleRegistry) removeRequestedRules(key Key) {
	affected := o.contributions.Drop(key)
	if affected.All {
		maps.Copy(o.uncomparedSecurityGroups, o.knownSecurityGroupIDs)
		for g := range o.foundSecurityGroups {
			o.uncomparedSecurityGroups[g] = true
		}
	}
	maps.Copy(o.uncomparedSecurityGroups, affected.Groups)
	maps.Copy(o.uncomparedSecurityGroups, o.byBinding[key].unsyncedSecurityGroups)
	delete(o.byBinding, key)
}

// pendingSecurityGroups has the security groups that a run of a binding compares with AWS. required are the security groups
// in which the binding needs rules: if one of them fails, the run fails. optional are the security groups that the binding
// no longer needs, and those that any run may compare.
type pendingSecurityGroups struct {
	required, optional []string // each sorted in ascending order
	all                bool     // compare all security groups first
}

// pendingSecurityGroupsOf returns the security groups that a run of a binding must compare with AWS. If again is true, these
// include all security groups in which the binding needs rules, even if they have not changed.
func (o *ruleRegistry) pendingSecurityGroupsOf(key Key, again bool) pendingSecurityGroups {
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

// recordSyncedSecurityGroup records that a run of a binding has compared a security group with AWS, and that it has the
// desired rules.
func (o *ruleRegistry) recordSyncedSecurityGroup(key Key, group string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.uncomparedSecurityGroups, group)
	delete(o.foundSecurityGroups, group)
	if x := o.byBinding[key]; x.unsyncedSecurityGroups[group] {
		x.unsyncedSecurityGroups = maps.Clone(x.unsyncedSecurityGroups)
		delete(x.unsyncedSecurityGroups, group)
		o.byBinding[key] = x
	}
}

// recordAllSecurityGroupsSynced records that a run of a binding has compared all security groups with AWS.
func (o *ruleRegistry) recordAllSecurityGroupsSynced(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if x, ok := o.byBinding[key]; ok {
		x.allUnsynced = false
		o.byBinding[key] = x
	}
}

// recordUncomparedSecurityGroup records that a security group must still be compared with AWS. The next run of any binding
// that changes rules compares it.
func (o *ruleRegistry) recordUncomparedSecurityGroup(group string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.uncomparedSecurityGroups[group] = true
}

// lockSecurityGroup locks the rules of a security group until the returned function is called. If another run has the lock,
// it waits for that run, or returns a nil function if wait is false.
func (o *ruleRegistry) lockSecurityGroup(ctx context.Context, group string, wait bool) (end func(), err error) {
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

// changeForSecurityGroup returns the change that is necessary so that security group g has exactly the rules that all
// bindings need. From a security group that was only found by its rules, it removes only rules from the sources by which it
// was found.
func (o *ruleRegistry) changeForSecurityGroup(g EndpointSecurityGroup, opts bindingplan.RuleOptions) bindingplan.SecurityGroupChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.contributions.ChangeOf(g, opts)
	if sources, isFound := o.foundSecurityGroups[g.ID]; isFound {
		before := len(c.Revoke)
		c.Revoke = slices.DeleteFunc(c.Revoke, func(r model.IngressRule) bool { return !slices.Contains(sources, r.Group) })
		c.Total += before - len(c.Revoke)
	}
	return c
}

// orderByShare returns a change with its rules in the order in which the quota of the security group admits them.
func (o *ruleRegistry) orderByShare(c bindingplan.SecurityGroupChange, opts bindingplan.RuleOptions) bindingplan.SecurityGroupChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.contributions.OrderByShare(c, opts)
}

// knownSecurityGroups returns the IDs of the security groups that have had rules of bindings, also those that were only
// found by their rules.
func (o *ruleRegistry) knownSecurityGroups() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := maps.Clone(o.knownSecurityGroupIDs)
	for g := range o.foundSecurityGroups {
		all[g] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// keysForSecurityGroups returns the bindings that need rules in at least one of the security groups.
func (o *ruleRegistry) keysForSecurityGroups(groups []string) []Key {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.contributions.BindingsRequesting(groups)
}
