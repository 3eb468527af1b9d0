package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// tearDown plans towards nothing: the load balancer, which ends the traffic and frees everything
// else, then bindings, target groups, security groups, and last the members' finalizers.
func (b *builder) tearDown() {
	lbs := b.deleteLoadBalancers("no object wants the load balancer any more", b.unprotect())
	b.removeSurplusGroups()
	b.managed.remove(b.listeners, lbs)
	b.deleteGroups(b.allSteps(), lbs)
	b.release().all(b.allSteps())
}

// unprotect switches off the deletion protection of load balancers that go, where a member says that they have none.
func (b *builder) unprotect() []StepID {
	if !b.want.Unprotected {
		return nil
	}
	first := len(b.plan.Steps)
	for _, lb := range b.surplus {
		a := Address{Kind: LoadBalancer, ID: lb.ARN}
		b.planAttributes(a, lb.ARN, map[string]string{protectionAttribute: "false"}, lb.Attributes, true, nil, b.members())
	}
	var out []StepID
	for _, s := range b.plan.Steps[first:] {
		out = append(out, s.ID)
	}
	return out
}

// giveUp makes the load balancer one that is to go, after nothing was found on it that stays.
func (b *builder) giveUp() {
	if b.live != nil {
		b.surplus = append(b.surplus, *b.live)
		b.live = nil
	}
}

func (b *builder) deleteGroups(bindings, lbs []StepID) {
	if f := b.unavailable(model.AskSecurityGroups{}); f != nil {
		// There may be some. Once the objects are gone nothing would delete them.
		b.awaitUnavailable(managedGroupAddress, DeleteSecurityGroup{}, *f)
		return
	}
	for _, g := range b.have.SecurityGroups {
		deleteGroup(b.draft, g.ID, "no load balancer carries it any more", lbs)
	}
	use := b.want.BackendGroup
	g := b.have.Facts.BackendGroup
	if use.Given != "" || use.OthersLive || use.Needed || g == nil || b.have.Facts.BackendGroupUsers > 0 {
		return
	}
	// The rules of nodes and pods name the group as their source; they go with the bindings.
	s := Step{
		ID: stepID("delete", backendGroupAddress), Address: backendGroupAddress, Verb: Delete,
		Do: DeleteSecurityGroup{GroupID: g.ID}, Impact: DeleteImpact,
		Why: "no load balancer of the cluster needs it any more", After: slices.Clone(bindings), Blames: b.members(),
	}
	if len(b.have.Bindings) > 0 {
		s.Wait = b.wait("backend "+g.ID, "bindings to take their rules back", longestWait)
	}
	b.add(s)
}

// guarded reports whether what is live has to stay although it is not desired: because a member that is
// being deleted asked for protection, or because no member asks for the removal.
func (b *builder) guarded() bool {
	if !b.want.Empty() {
		return false
	}
	if g := b.want.DeletionGuard; g != nil && (b.live != nil || len(b.surplus) > 0) {
		b.found.Add(*g)
		return true
	}
	// Without an object that carries the finalizer, the objects went without being served, or the
	// view is incomplete. What is there stays until it is decided.
	return len(b.want.Leaving) == 0
}
