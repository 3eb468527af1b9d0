package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// groupRemoval deletes target groups and bindings that the stack does not need any more.
type groupRemoval struct {
	*targetGroups
	*usage
	albs       *attachments
	bindingsOf map[string][]*observed.Binding // by the ARN of their target group
}

func (b *builder) removeSurplusGroups() {
	r := groupRemoval{b.targetGroups, b.usage, b.attachments, b.bindingsOf}
	r.all()
}

// all deletes bindings and target groups that nothing uses any more: the binding
// first, whose own finalizer takes the targets out, then, when these have drained, the target group.
// Each waits for those steps only that take away what forwards to it.
func (r *groupRemoval) all() {
	keep := map[string]bool{}
	for _, arn := range r.groupARN {
		keep[arn] = true
	}
	live := map[string]bool{}
	for _, g := range r.have.TargetGroups {
		live[g.ARN] = true
		if keep[g.ARN] || r.kept[g.ARN] {
			continue
		}
		if g.Type == model.ALBTargets {
			r.removeALB(g, r.freedBy[g.ARN])
			continue
		}
		r.remove(g, r.bindingsOf[g.ARN], r.freedBy[g.ARN], len(r.have.LoadBalancers) > 0 && !r.want.Empty())
	}
	// Bindings of target groups that are gone.
	for _, h := range r.have.Bindings {
		if !h.Deleting && !live[h.ARN] {
			r.unbind(h, "its target group is gone", nil)
		}
	}
}

func (r *groupRemoval) unbind(h observed.Binding, why string, after []StepID) *Step {
	a := Address{Kind: Binding, ID: h.Namespace + "/" + h.Name}
	r.add(Step{
		ID: stepID("unbind", a), Address: a, Verb: Delete, Do: DeleteBinding{Namespace: h.Namespace, Name: h.Name},
		Why: why, After: after, Blames: r.blameOwners(h.ARN),
	})
	return &r.plan.Steps[len(r.plan.Steps)-1]
}

// settling is what the end of a target group waits for: a node that still forwards to the target group
// would have no target for the requests it sends there.
const settling = "all nodes of the load balancer to stop forwarding there"

// settled is for how long nodes of the load balancer may still use a target group that nothing
// forwards to once some steps are done. Later changes of other rules do not make it longer.
func (r *groupRemoval) settled(arn string, after []StepID) Wait {
	switch {
	case len(after) > 0 && r.opt.Propagation > 0:
		return Wait{For: settling, Again: r.opt.Propagation}
	case r.memory.Unsettled > 0:
		wait := r.wait("settle "+arn, settling, max(r.opt.Propagation, time.Second))
		if wait.For != "" {
			wait.Again = min(r.memory.Unsettled, wait.Deadline-r.memory.Waited["settle "+arn])
		}
		return wait
	}
	return Wait{}
}

func (r *groupRemoval) remove(g observed.TargetGroup, bindings []*observed.Binding, after []StepID, drain bool) {
	a := Address{Kind: TargetGroup, ID: g.ARN}
	s := Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteTargetGroup{ARN: g.ARN},
		Changes: []Change{{Path: "name", From: g.Name}},
		Why:     "nothing forwards to it any more", After: slices.Clone(after), Impact: DeleteImpact, Blames: r.blameOwners(g.ARN),
	}
	var settle Wait
	if drain {
		settle = r.settled(g.ARN, after)
	}
	for _, h := range bindings {
		if !h.Deleting {
			unbind := r.unbind(*h, "its target group is not used any more", after)
			unbind.Wait = settle
			s.After = append(s.After, unbind.ID)
		}
		s.Wait = r.wait("unbind "+g.ARN, "binding "+h.Namespace+"/"+h.Name+" to deregister its targets", longestWait)
		if s.Waits() && r.memory.Waited["unbind "+g.ARN] >= reportAfter {
			r.waitToDelete(g, s.Wait)
		}
		if !s.Waits() {
			r.gaveUp(g, "binding "+h.Namespace+"/"+h.Name+" does not deregister its targets", longestWait)
		}
	}
	if len(bindings) == 0 && drain {
		s.Wait = settle
		if !s.Waits() {
			s.Wait = r.drains(g)
		}
	}
	r.add(s)
}

// removeALB deletes a target group of type alb that nothing uses any more, when its target has
// gone.
func (r *groupRemoval) removeALB(g observed.TargetGroup, after []StepID) {
	if r.frontendStays() || r.want.FrontendNLB != nil && r.want.Held.FrontendPorts {
		return
	}
	targets, known := r.albs.albTargets(g.ARN)
	if !known {
		if f := r.unavailable(model.AskALBTargets{ARN: g.ARN}); f != nil && r.want.Empty() {
			r.awaitUnavailable(Address{Kind: TargetGroup, ID: g.ARN}, DeleteTargetGroup{ARN: g.ARN}, *f)
		}
		return
	}
	gone := slices.Clone(after)
	for _, t := range targets {
		gone = append(gone, r.albs.detach(g.ARN, t, after))
	}
	r.remove(g, nil, gone, false)
}

// drains is for what the deletion of a target group waits while its targets keep connections.
func (r *groupRemoval) drains(g observed.TargetGroup) Wait {
	health, asked := r.have.Facts.Health[g.ARN]
	if f := r.unavailable(model.AskHealth{ARN: g.ARN}); f != nil {
		wait := r.wait("drain "+g.ARN, "the state of its targets", drainDeadline(g.Attributes))
		if wait.For != "" {
			wait.Again = f.Again
			r.reportUnavailable(*f, "target group "+g.Name+" is not deleted yet", finding.BlocksNothing)
		}
		return wait
	}
	if !asked {
		r.ask(model.AskHealth{ARN: g.ARN})
		return Wait{For: "the state of its targets"}
	}
	n := health.Count("draining")
	if n == 0 {
		return Wait{}
	}
	deadline := drainDeadline(g.Attributes)
	wait := r.wait("drain "+g.ARN, describe(n, "target")+" to drain", deadline)
	if wait.For == "" {
		r.gaveUp(g, describe(n, "target")+" still drain", deadline)
		return wait
	}
	reported := wait
	reported.For = "its targets to drain" // the same while their number changes
	r.waitToDelete(g, reported)
	return wait
}

// reportAfter is from when on an Ingress gets an event that a binding takes its time: usually that is seconds.
const reportAfter = 30 * time.Second

// waitToDelete says to members that leave what the end of their target group waits for.
func (r *groupRemoval) waitToDelete(g observed.TargetGroup, wait Wait) {
	owners := r.groupOwners(g.ARN)
	for _, m := range r.want.Leaving {
		if slices.Contains(owners, m.Ref) {
			r.found.Add(finding.Finding{
				Object: m.Ref, Reason: finding.WaitingToDelete, Severity: finding.Warning,
				Message: fmt.Sprintf("the deletion of target group %q waits for %s, for at most %s; the Ingress is released then", g.Name, wait.For, wait.Deadline),
				Fix:     "to be quicker the next time, lower deregistration_delay.timeout_seconds in target-group-attributes",
			})
		}
	}
}

// gaveUp reports that a target group is deleted although something has not come to its end.
func (r *groupRemoval) gaveUp(g observed.TargetGroup, what string, deadline time.Duration) {
	for _, m := range r.blameOwners(g.ARN) {
		r.found.Add(finding.Finding{
			Object: m, Reason: finding.WaitExpired, Severity: finding.Warning,
			Message: fmt.Sprintf("%s after %s; target group %q is deleted all the same", what, deadline, g.Name),
			Fix:     "check who registers targets in it",
		})
	}
}
