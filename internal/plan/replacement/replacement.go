package replacement

import (
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/listeners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/loadbalancers"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
)

// Planner plans the replacement of load balancers: when the status switches, and when previous load balancers are deleted.
type Planner struct {
	*traffic.Traffic
	*draft.Usage
	ALBTargets    *targetgroups.ALBTargetPlanner
	LoadBalancers *loadbalancers.Planner
	Listeners     *listeners.Planner
}

// HoldSchemes returns a copy of want. If the replacement of the existing load balancer is held, the desired load balancer in
// the copy has the scheme and name of the existing load balancer. If the type differs, the whole stack is held, because the
// existing load balancer cannot have the desired listeners.
func HoldSchemes(want model.Stack, have observed.Stack) model.Stack {
	live := plan.ShownLoadBalancer(have, model.LoadBalancerID)
	if !want.Held.Replacement || want.LoadBalancer == nil || live == nil {
		return want
	}
	if live.Type != want.LoadBalancer.Type.String() {
		want.Held.AllResources = true
		return want
	}
	lb := *want.LoadBalancer
	lb.Scheme, lb.Name = live.Scheme, live.Name
	want.LoadBalancer = &lb
	return want
}

// SwitchStatus switches the status from the previous load balancer to the new load balancer if this is ready for requests.
// It sets StatusSwitched or SwitchWait of lb, and plans the tags that record the progress. steps has the planned steps that
// create and change the new load balancer.
func (p *Planner) SwitchStatus(lb *resolved.LoadBalancer, steps []plan.Step) {
	lb.StatusSwitched = true
	old := lb.ShownPrevious(p.Have)
	if old != nil && lb.Live != nil && plan.ShownLoadBalancer(p.Have, lb.ID).ARN != lb.Live.ARN {
		if lb.SwitchWait = p.readinessWait(lb, old, steps); lb.SwitchWait.For != "" {
			lb.StatusSwitched = false
			return
		}
	}
	if lb.Live == nil {
		lb.StatusSwitched = old == nil
		lb.SwitchWait = plan.Wait{For: "the new load balancer to be created"}
		return
	}
	var marks []plan.StepID
	for _, o := range lb.Previous {
		if o.Tags[naming.ReplacedTag] != "" {
			continue
		}
		a := plan.Address{Kind: plan.LoadBalancer, ID: o.ARN}
		since := p.Have.Facts.Now.UTC().Format(time.RFC3339)
		tags := plan.Tags{naming.ReplacedTag: since}
		for k, v := range o.Tags {
			if !naming.IsAWSTag(k) { // AWS does not count its own tags against the limit
				tags[k] = v
			}
		}
		marks = append(marks, p.AddTagStep(plan.Step{
			ID: plan.NewStepID("replaced", a), Address: a,
			Why: "the status shows " + lb.Live.Name + " from now on", Impact: plan.ReplaceImpact, RequestedBy: p.Members(),
		}, plan.Tags{naming.ReplacedTag: since}, draft.TrimTags(tags), o.Tags))
	}
	p.removeProgressTags(lb, marks)
}

// removeProgressTags plans to remove the tags of a replacement from a load balancer that the status shows.
func (p *Planner) removeProgressTags(lb *resolved.LoadBalancer, after []plan.StepID) {
	var remove []string
	for _, k := range []string{naming.ReplacedTag, naming.SuccessorTag} {
		if lb.Live.Tags[k] != "" {
			remove = append(remove, k)
		}
	}
	if len(remove) == 0 {
		return
	}
	a := lb.Address()
	p.AddTagStep(plan.Step{ID: plan.NewStepID("serving", a), Address: a, Why: "the status shows it", After: after, RequestedBy: p.Members()}, nil, remove, lb.Live.Tags)
}

// readinessWait returns the wait until a new load balancer can answer all requests that the previous load balancer answers;
// the zero Wait if the new load balancer already can.
func (p *Planner) readinessWait(lb *resolved.LoadBalancer, old *observed.LoadBalancer, steps []plan.Step) plan.Wait {
	live := lb.Live
	if live.State == observed.LoadBalancerProvisioning || live.State == observed.LoadBalancerFailed {
		wait := p.AwaitActive(live.ARN, "the new load balancer to be active")
		if live.State == observed.LoadBalancerFailed {
			wait.RetryAfter = durations.LongestBackOff // the finding about this state causes earlier attempts with back-off
		}
		return wait
	}
	lacks := missingParts(lb, old, steps)
	if lacks != "" {
		// The wait has a deadline, because AWS may refuse a resource of one member forever.
		if wait := p.NewWait("complete "+live.ARN, "the new load balancer to have "+lacks, durations.LongestWait); wait.For != "" {
			return wait
		}
	}
	if pending := p.unreadyTargetGroups(lb, old); len(pending) > 0 {
		wait := p.AwaitTargets("serve "+live.ARN, "healthy targets", pending, finding.Origin{}, p.Members(), "the load balancer that takes the place of "+old.Name)
		if wait.For != "" {
			return wait
		}
	}
	if lacks != "" {
		p.Findings.Add(finding.Finding{
			Object: p.EventObject(finding.Ref{}), Reason: finding.WaitExpired, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancer %q replaces %q after %s although it does not have %s yet", live.Name, old.Name, durations.LongestWait, lacks),
			Fix:     "correct the faults in the other findings",
		})
	}
	return plan.Wait{}
}

// missingParts returns a text for messages: the parts that a new load balancer lacks before it can replace the old load
// balancer; empty if no part is missing.
func missingParts(lb *resolved.LoadBalancer, old *observed.LoadBalancer, steps []plan.Step) string {
	for _, l := range lb.Listeners {
		if l.Live == nil && slices.ContainsFunc(old.Listeners, func(o observed.Listener) bool { return o.Port == l.Desired.Port }) {
			return fmt.Sprintf("a listener on port %d", l.Desired.Port)
		}
	}
	if slices.ContainsFunc(steps, affectsServing) {
		return "all of its planned changes"
	}
	return ""
}

// affectsServing reports whether a new load balancer needs a step before it can answer requests.
func affectsServing(s plan.Step) bool {
	if s.Verb == plan.Delete {
		return false
	}
	switch s.Address.Kind {
	case plan.SecurityGroup, plan.BackendSecurityGroup, plan.TargetGroup, plan.LoadBalancer, plan.Listener, plan.Rule, plan.Binding, plan.WebACL, plan.ClassicACL, plan.Protection, plan.ALBTarget:
		return true
	}
	return false
}

// unreadyTargetGroups returns the target groups of a new load balancer that have no healthy targets although the previous
// load balancer has healthy targets in the corresponding target groups.
func (p *Planner) unreadyTargetGroups(lb *resolved.LoadBalancer, old *observed.LoadBalancer) []model.TargetGroupRef {
	before := map[string][]string{}
	equal.EachForwardedARN(old.Listeners, func(arn string) {
		if id := p.LiveTargetGroupIDs[arn]; id != "" && !slices.Contains(before[id], arn) {
			before[id] = append(before[id], arn)
		}
	})
	var out []model.TargetGroupRef
	seen := map[string]bool{}
	equal.EachForwardedARN(lb.Live.Listeners, func(arn string) {
		id := p.LiveTargetGroupIDs[arn]
		if seen[arn] || len(before[id]) == 0 {
			return
		}
		seen[arn] = true
		if !p.IsReady(arn) && p.HasServingTargetGroup(before[id]) {
			out = append(out, model.TargetGroupRef{ID: id})
		}
	})
	return out
}

// DeletePrevious plans to delete previous load balancers. Each deletion waits until clients have had time to resolve the new
// DNS name. A frontend NLB is deleted before its ALB.
func (p *Planner) DeletePrevious(lb, frontend *resolved.LoadBalancer) {
	var frontendWait plan.Wait
	for _, lb := range []*resolved.LoadBalancer{frontend, lb} {
		for _, old := range lb.Previous {
			wait := p.deletionWait(lb, old)
			if wait.For == "" && !lb.IsFrontend() {
				wait = frontendWait
			}
			if wait.For == "" {
				p.LoadBalancers.Delete(*old, old.Name, "clients have had time to resolve "+lb.Desired.Name, p.ALBTargets.DeregisterFromAllTargetGroups(old.ARN, nil))
				continue
			}
			if lb.IsFrontend() {
				frontendWait = wait
			}
			p.retainTargetGroupsOfPrevious(lb, old)
			a := plan.Address{Kind: plan.LoadBalancer, ID: old.ARN}
			p.Add(plan.Step{
				ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteLoadBalancer{ARN: old.ARN},
				Changes: []plan.Change{{Path: "name", From: old.Name}}, Why: "another load balancer replaces it",
				Impact: plan.ReplaceImpact, Wait: wait, RequestedBy: p.Members(), ReplacedLoadBalancer: old.Name,
			})
		}
		p.reportReplacement(lb)
	}
}

// deletionWait returns the wait before the deletion of a previous load balancer; the zero Wait if it can be deleted. Package
// loadbalancers checks that the load balancer is not an endpoint of an accelerator.
func (p *Planner) deletionWait(lb *resolved.LoadBalancer, old *observed.LoadBalancer) plan.Wait {
	if !lb.StatusSwitched {
		return lb.SwitchWait
	}
	// If ReplacedTag is not set yet, this plan sets it. The deletion waits for the tag even if the delay is 0.
	remaining := max(p.Opt.DeletionDelay, time.Second)
	if since, err := time.Parse(time.RFC3339, old.Tags[naming.ReplacedTag]); err == nil {
		remaining = min(p.Opt.DeletionDelay, since.Add(p.Opt.DeletionDelay).Sub(p.Have.Facts.Now))
	}
	if remaining <= 0 {
		return plan.Wait{}
	}
	return plan.Wait{For: "clients to follow DNS to the new load balancer", RetryAfter: remaining}
}

// retainTargetGroupsOfPrevious records that the target groups of a previous load balancer must not be deleted. The rules of
// leaving members on the previous load balancer are deleted at once, and do not keep their target groups.
func (p *Planner) retainTargetGroupsOfPrevious(lb *resolved.LoadBalancer, old *observed.LoadBalancer) {
	leaving := map[finding.Ref]bool{}
	for _, m := range p.Want.Leaving {
		leaving[m.Ref] = true
	}
	isLeaving := func(as []model.Action) bool {
		owners := p.ActionOwners(as)
		return len(owners) > 0 && !slices.ContainsFunc(owners, func(r finding.Ref) bool { return !leaving[r] })
	}
	for i := range old.Listeners {
		l := resolved.Listener{LB: lb, Live: &old.Listeners[i]}
		if len(leaving) > 0 && old.Type == model.Application.String() {
			l.HasForeignDefault = isLeaving(l.Live.Default)
			for _, r := range l.Live.Rules {
				if isLeaving(r.Actions) {
					l.ForeignRules = append(l.ForeignRules, r)
				}
			}
			p.Listeners.RemoveForeignRules(&l)
		}
		p.RetainTargetGroupsOfListener(l.LiveWithoutForeignRules())
	}
}

// reportReplacement reports that a load balancer is being replaced, and whether requests fail during the replacement.
func (p *Planner) reportReplacement(lb *resolved.LoadBalancer) {
	old := lb.ShownPrevious(p.Have)
	if lb.Conflict != "" && len(p.Want.Members) > 0 {
		p.Findings.Add(finding.Finding{
			Object: p.Want.Members[0].Ref, Reason: finding.ReplacedWithGap, Severity: finding.Warning,
			Message: fmt.Sprintf("two load balancers cannot both have %s; the existing one is deleted before the new one is created, and requests fail in between", lb.Conflict),
			Fix:     "to avoid the interruption, also change or remove that setting, in the same edit as the setting that needs the replacement",
		})
	}
	if old == nil || len(p.Want.Members) == 0 {
		return
	}
	was, is := string(old.Scheme), string(lb.Desired.Scheme)
	if of := lb.Desired.Type.String(); old.Type != of {
		was, is = old.Type, of
	}
	p.Findings.Add(finding.Finding{
		Object: p.Want.Members[0].Ref, Reason: finding.LoadBalancerReplaced,
		Message: fmt.Sprintf("load balancer %q cannot change its %s from %q to %q; a new load balancer replaces it, the status shows the new one when it serves, and %q is deleted %s later",
			old.Name, lb.ImmutableDifference(old), was, is, old.Name, p.Opt.DeletionDelay),
		Fix: "to go back without a new load balancer, restore the previous value before the previous load balancer is deleted",
	})
}
