package targetgroups

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// removalPlanner plans to delete the target groups and bindings that the stack does not need any more.
type removalPlanner struct {
	*Planner
	*draft.Usage
}

// RemoveSurplus plans to delete the bindings and target groups that nothing uses. The binding is deleted first. Because of
// its finalizer, a run of the binding deregisters the targets before the binding is removed. The target group is deleted
// when the targets have drained. Each deletion depends only on the steps that remove the rules and default actions that
// forward to the target group.
func (gp *Planner) RemoveSurplus(u *draft.Usage) {
	r := removalPlanner{gp, u}
	keep := map[string]bool{}
	for _, arn := range r.LiveTargetGroupARNs {
		keep[arn] = true
	}
	live := map[string]bool{}
	for _, g := range r.Have.TargetGroups {
		live[g.ARN] = true
		if keep[g.ARN] || r.KeptTargetGroups[g.ARN] {
			continue
		}
		if g.Type == model.ALBTargets {
			r.removeALBTargetGroup(g, r.FreeingSteps[g.ARN])
			continue
		}
		r.removeTargetGroup(g, r.BindingsOf[g.ARN], r.FreeingSteps[g.ARN], len(r.Have.LoadBalancers) > 0 && !r.Want.IsEmpty())
	}
	// The target groups of these bindings do not exist any more.
	for _, h := range r.Have.Bindings {
		if !h.Deleting && !live[h.ARN] {
			r.deleteBinding(h, "its target group does not exist any more", nil)
		}
	}
}

func (r removalPlanner) deleteBinding(h observed.Binding, why string, after []plan.StepID) *plan.Step {
	a := plan.Address{Kind: plan.Binding, ID: h.Namespace + "/" + h.Name}
	r.Add(plan.Step{
		ID: plan.NewStepID("unbind", a), Address: a, Verb: plan.Delete, Do: plan.DeleteBinding{Namespace: h.Namespace, Name: h.Name},
		Why: why, After: after, RequestedBy: r.FindingObjects(h.ARN),
	})
	return &r.Draft.Plan.Steps[len(r.Draft.Plan.Steps)-1]
}

// StopForwardingText describes the wait before a target group is deleted. A node of the load balancer that has not applied
// the change of the rules continues to forward to the target group, which must still have targets.
const StopForwardingText = "all nodes of the load balancer to stop forwarding to the target group"

// propagationWait returns the wait until all nodes of the load balancer have stopped forwarding to a target group. Later
// changes of other rules do not extend the wait.
func (r removalPlanner) propagationWait(arn string, after []plan.StepID) plan.Wait {
	switch {
	case len(after) > 0 && r.Opt.Propagation > 0:
		return plan.Wait{For: StopForwardingText, RetryAfter: r.Opt.Propagation}
	case r.Memory.RemainingPropagation > 0:
		wait := r.NewWait("propagation "+arn, StopForwardingText, max(r.Opt.Propagation, time.Second))
		if wait.For != "" {
			wait.RetryAfter = min(r.Memory.RemainingPropagation, wait.Deadline-r.Memory.WaitedTimes["propagation "+arn])
		}
		return wait
	}
	return plan.Wait{}
}

func (r removalPlanner) removeTargetGroup(g observed.TargetGroup, bindings []*observed.Binding, after []plan.StepID, drain bool) {
	a := plan.Address{Kind: plan.TargetGroup, ID: g.ARN}
	s := plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteTargetGroup{ARN: g.ARN},
		Changes: []plan.Change{{Path: "name", From: g.Name}},
		Why:     "nothing forwards to it any more", After: slices.Clone(after), Impact: plan.DeleteImpact, RequestedBy: r.FindingObjects(g.ARN),
	}
	var propagated plan.Wait
	if drain {
		propagated = r.propagationWait(g.ARN, after)
	}
	for _, h := range bindings {
		if !h.Deleting {
			unbind := r.deleteBinding(*h, "its target group is not used any more", after)
			unbind.Wait = propagated
			s.After = append(s.After, unbind.ID)
		}
		what := "binding " + h.Namespace + "/" + h.Name + " to deregister its targets"
		if !h.Deleting && (len(after) > 0 || propagated.For != "") {
			// The deadline begins with the first plan that can delete the binding. Until then, the waits of earlier steps
			// determine when the plan is made again.
			s.Wait = plan.Wait{For: what, RetryAfter: durations.LongestWait}
			continue
		}
		s.Wait = r.NewWait("unbind "+g.ARN, what, durations.LongestWait)
		if s.Waits() && r.Memory.WaitedTimes["unbind "+g.ARN] >= durations.FollowUpTime {
			r.reportDeletionWait(g, s.Wait)
		}
		if !s.Waits() {
			r.reportDeadlineExceeded(g, "binding "+h.Namespace+"/"+h.Name+" does not deregister its targets", durations.LongestWait)
		}
	}
	if len(bindings) == 0 && drain {
		s.Wait = propagated
		if !s.Waits() {
			s.Wait = r.drainWait(g)
		}
	}
	r.Add(s)
}

// removeALBTargetGroup plans to delete a target group of type alb after its target is deregistered.
func (r removalPlanner) removeALBTargetGroup(g observed.TargetGroup, after []plan.StepID) {
	if r.IsFrontendHeld() {
		return
	}
	targets, known := r.ALBTargets.ALBTargets(g.ARN)
	if !known {
		if f := r.ReadFault(model.AskALBTargets{ARN: g.ARN}); f != nil && r.Want.IsEmpty() {
			r.DeleteOnceReadable(plan.Address{Kind: plan.TargetGroup, ID: g.ARN}, plan.DeleteTargetGroup{ARN: g.ARN}, *f)
		}
		return
	}
	gone := slices.Clone(after)
	for _, t := range targets {
		gone = append(gone, r.ALBTargets.Deregister(g.ARN, t, after))
	}
	r.removeTargetGroup(g, nil, gone, false)
}

// drainWait returns the wait until the targets of a target group have drained.
func (r removalPlanner) drainWait(g observed.TargetGroup) plan.Wait {
	health, asked := r.Have.Facts.Health[g.ARN]
	if f := r.ReadFault(model.AskHealth{ARN: g.ARN}); f != nil {
		wait := r.NewWait("drain "+g.ARN, "the state of its targets", drainDeadline(g.Attributes))
		if wait.For != "" {
			wait.RetryAfter = f.RetryAfter
			r.ReportUnavailable(*f, "target group "+g.Name+" is not deleted yet", finding.BlocksNothing)
		}
		return wait
	}
	if !asked {
		r.Ask(model.AskHealth{ARN: g.ARN})
		return plan.Wait{For: "the state of its targets"}
	}
	n := health.CountInStates("draining")
	if n == 0 {
		return plan.Wait{}
	}
	deadline := drainDeadline(g.Attributes)
	wait := r.NewWait("drain "+g.ARN, plan.CountText(n, "target")+" to drain", deadline)
	if wait.For == "" {
		r.reportDeadlineExceeded(g, plan.CountText(n, "target")+" not drained", deadline)
		return wait
	}
	reported := wait
	reported.For = "its targets to drain" // without the number of targets, so that the message does not change
	r.reportDeletionWait(g, reported)
	return wait
}

// reportDeletionWait reports, on leaving members, what the deletion of their target group waits for.
func (r removalPlanner) reportDeletionWait(g observed.TargetGroup, wait plan.Wait) {
	owners := r.TargetGroupOwners(g.ARN)
	for _, m := range r.Want.Leaving {
		if slices.Contains(owners, m.Ref) {
			r.Findings.Add(finding.Finding{
				Object: m.Ref, Reason: finding.WaitingToDelete, Severity: finding.Warning,
				Message: fmt.Sprintf("the deletion of target group %q waits for %s, for at most %s; then the finalizer of the %s is removed", g.Name, wait.For, wait.Deadline, m.Ref.Kind),
				Fix:     "to shorten later deletions, lower deregistration_delay.timeout_seconds in target-group-attributes",
			})
		}
	}
}

// reportDeadlineExceeded reports that a target group is deleted because the deadline has passed, although the condition in
// what still applies.
func (r removalPlanner) reportDeadlineExceeded(g observed.TargetGroup, what string, deadline time.Duration) {
	for _, m := range r.FindingObjects(g.ARN) {
		r.Findings.Add(finding.Finding{
			Object: m, Reason: finding.WaitExpired, Severity: finding.Warning,
			Message: fmt.Sprintf("%s after %s; target group %q is deleted without further waiting", what, deadline, g.Name),
			Fix:     "check which controller or user registers targets in the target group",
		})
	}
}

// drainDeadline returns the deadline for the targets of a target group to drain: the deregistration delay plus one minute.
// Users set the deregistration delay, after which AWS closes all connections.
func drainDeadline(attributes map[string]string) time.Duration {
	const byDefault, most = 300, 3600
	seconds, err := strconv.Atoi(attributes["deregistration_delay.timeout_seconds"])
	switch {
	case attributes == nil: // not read
		seconds = most
	case err != nil:
		seconds = byDefault
	}
	return time.Duration(min(seconds, most))*time.Second + time.Minute
}
