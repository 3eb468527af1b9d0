package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/securitygroups"
)

// tearDown plans towards nothing: the load balancer, which ends the traffic and frees everything
// else, then bindings, target groups, security groups, and last the members' finalizers.
func (b *builder) tearDown() {
	lbs := b.deleteLoadBalancers("no object wants the load balancer any more", b.unprotect())
	b.removeSurplusGroups()
	b.managed.Remove(b.Listeners, lbs)
	b.deleteGroups(b.AllSteps(), lbs)
	b.release().all(b.AllSteps())
}

// unprotect switches off the deletion protection of load balancers that go, where a member says that they have none.
func (b *builder) unprotect() []plan.StepID {
	if !b.Want.Unprotected {
		return nil
	}
	first := len(b.Plan.Steps)
	for _, lb := range b.surplus {
		a := plan.Address{Kind: plan.LoadBalancer, ID: lb.ARN}
		b.PlanAttributes(a, lb.ARN, map[string]string{protectionAttribute: "false"}, lb.Attributes, true, nil, b.Members())
	}
	var out []plan.StepID
	for _, s := range b.Plan.Steps[first:] {
		out = append(out, s.ID)
	}
	return out
}

// giveUp makes the load balancer one that is to go, after nothing was found on it that stays.
func (b *builder) giveUp() {
	if b.Live != nil {
		b.surplus = append(b.surplus, *b.Live)
		b.Live = nil
	}
}

func (b *builder) deleteGroups(bindings, lbs []plan.StepID) {
	if f := b.Unavailable(model.AskSecurityGroups{}); f != nil {
		// There may be some. Once the objects are gone nothing would delete them.
		b.AwaitUnavailable(plan.ManagedGroupAddress, plan.DeleteSecurityGroup{}, *f)
		return
	}
	for _, g := range b.Have.SecurityGroups {
		securitygroups.DeleteGroup(b.Draft, g.ID, "no load balancer carries it any more", lbs)
	}
	use := b.Want.BackendGroup
	g := b.Have.Facts.BackendGroup
	if use.Given != "" || use.OthersLive || use.Needed || g == nil || b.Have.Facts.BackendGroupUsers > 0 {
		return
	}
	// The rules of nodes and pods name the group as their source; they go with the bindings.
	s := plan.Step{
		ID: plan.NewStepID("delete", plan.BackendGroupAddress), Address: plan.BackendGroupAddress, Verb: plan.Delete,
		Do: plan.DeleteSecurityGroup{GroupID: g.ID}, Impact: plan.DeleteImpact,
		Why: "no load balancer of the cluster needs it any more", After: slices.Clone(bindings), Blames: b.Members(),
	}
	if len(b.Have.Bindings) > 0 {
		s.Wait = b.Wait("backend "+g.ID, "bindings to take their rules back", draft.LongestWait)
	}
	b.Add(s)
}

// guarded reports whether what is live has to stay although it is not desired: because a member that is
// being deleted asked for protection, or because no member asks for the removal.
func (b *builder) guarded() bool {
	if !b.Want.Empty() {
		return false
	}
	if g := b.Want.DeletionGuard; g != nil && (b.Live != nil || len(b.surplus) > 0) {
		b.Found.Add(*g)
		return true
	}
	// Without an object that carries the finalizer, the objects went without being served, or the
	// view is incomplete. What is there stays until it is decided.
	return len(b.Want.Leaving) == 0
}
