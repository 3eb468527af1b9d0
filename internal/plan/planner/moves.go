package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// Members that move
//
// A member that moves to another stack gets target groups and listeners in the other stack, and keeps its resources in this
// stack until the move is complete. When its new resources are ready for requests, the other stack writes its load balancer
// into the status of the member. Clients then have the time --replacement-deletion-delay to resolve the new name.
// Afterwards, the member leaves this stack. The status and the time of its last edit record the progress, so that it is
// known after a restart.

// withoutDepartedMembers returns the stack without the members whose move to another stack is complete. It also returns the
// time until the remaining moving members must be checked again; zero if there are none. If all members have moved, they
// remain in the stack until its deletion protection is disabled.
func withoutDepartedMembers(want model.Stack, have observed.Stack, opt plan.Options) (model.Stack, time.Duration) {
	gone := map[finding.Ref]bool{}
	var again time.Duration
	for _, d := range want.MovesOut {
		rest := d.Since.Add(opt.DeletionDelay).Sub(have.Facts.Now)
		switch {
		case !opt.CreateFirst || !d.Since.IsZero() && rest <= 0:
			gone[d.Member] = true
		case !d.Since.IsZero() && (again == 0 || rest < again):
			again = rest
		}
	}
	if len(gone) == 0 || want.Held.AllResources {
		return want, again
	}
	original := want
	stays := want.Members[:0:0]
	for _, m := range want.Members {
		if gone[m.Ref] {
			want.Leaving = append(slices.Clip(want.Leaving), m)
		} else {
			stays = append(stays, m)
		}
	}
	want.Members = stays
	all := func(of []finding.Ref) bool {
		return len(of) > 0 && !slices.ContainsFunc(of, func(r finding.Ref) bool { return !gone[r] })
	}
	if len(stays) == 0 && want.LoadBalancer.Attributes[plan.DeletionProtectionAttribute] == "true" {
		return original, again
	}
	if len(stays) == 0 && mustDisableProtection(want.LoadBalancer, have) {
		return original, durations.LastPoll
	}
	if len(stays) == 0 {
		want.LoadBalancer, want.TargetGroups = nil, nil
		return want, again
	}
	lb := *want.LoadBalancer
	lb.Listeners = slices.DeleteFunc(slices.Clone(lb.Listeners), func(l model.Listener) bool { return all(l.Members) })
	want.LoadBalancer = &lb
	want.TargetGroups = slices.DeleteFunc(slices.Clone(want.TargetGroups), func(g model.TargetGroup) bool { return all(g.Members) })
	return want, again
}

// mustDisableProtection reports whether a member sets the deletion protection attribute, and the protection is or may be
// enabled in AWS.
func mustDisableProtection(desired *model.LoadBalancer, have observed.Stack) bool {
	_, named := desired.Attributes[plan.DeletionProtectionAttribute]
	live := plan.ShownLoadBalancer(have, model.LoadBalancerID)
	return named && live != nil && (live.Attributes == nil || live.Attributes[plan.DeletionProtectionAttribute] == "true")
}

// memberMoves reports members that move to or from other stacks.
type memberMoves struct{ *resolution }

// reportDeletionProtection reports that the load balancer remains after the last members have moved, because it is protected
// from deletion.
func (r memberMoves) reportDeletionProtection() {
	for _, d := range r.Want.MovesOut {
		if !d.Since.IsZero() && len(r.Want.MovesOut) == len(r.Want.Members) && r.Want.LoadBalancer.Attributes[plan.DeletionProtectionAttribute] == "true" {
			r.Findings.Add(finding.Finding{
				Object: d.Member, Reason: finding.DeletionProtected, Severity: finding.Warning,
				Message: fmt.Sprintf("the previous load balancer %q has deletion protection and stays", r.Want.LoadBalancer.Name),
				Fix:     "set " + plan.DeletionProtectionAttribute + "=false until it is deleted",
			})
		}
	}
}

// reportDepartures reports, on members that move to another stack, until when the previous load balancer still serves them,
// and later that it does not serve them any more.
func (r memberMoves) reportDepartures() {
	old := plan.ShownLoadBalancer(r.Have, model.LoadBalancerID)
	if old == nil || r.Want.Held.AllResources {
		return
	}
	for _, d := range r.Want.MovesOut {
		x := finding.Finding{Object: d.Member, Reason: finding.LoadBalancerMoved}
		until := d.Since.Add(r.Opt.DeletionDelay)
		switch stays := slices.ContainsFunc(r.Want.Members, func(m model.Member) bool { return m.Ref == d.Member }); {
		case !stays:
			x.Message = fmt.Sprintf("this %s has left load balancer %q, which does not serve it any more", d.Member.Kind, old.Name)
		case d.Since.IsZero() || !until.After(r.Have.Facts.Now):
			continue // the status still shows this load balancer, or another finding reports why the member stays
		default:
			x.Message = fmt.Sprintf("the move is complete, and the status shows the new load balancer; the previous load balancer %q still serves until %s, for clients that still have its addresses", old.Name, until.UTC().Format(time.RFC3339))
			x.Fix = "to go back, restore the annotation"
		}
		r.Findings.Add(x)
	}
}

// recordArrivals records and reports members that come from another stack and whose status does not show the load balancer
// of this stack yet.
func (r memberMoves) recordArrivals() {
	for _, a := range r.Want.MovesIn {
		wait := plan.Wait{For: "all of its ports"}
		if !a.Partial {
			wait = r.arrivalWait(a.Member)
		}
		if wait.For == "" {
			continue
		}
		r.Plan.MembersWithRetainedStatus = append(r.Plan.MembersWithRetainedStatus, a.Member)
		if !a.Partial {
			r.RetryWithin(cmp.Or(wait.RetryAfter, durations.FirstPoll))
		}
		other := ""
		if a.From != "" && a.From != r.Want.LoadBalancer.Scheme {
			other = fmt.Sprintf("; its scheme is %q, and the scheme of the previous load balancer is %q", r.Want.LoadBalancer.Scheme, a.From)
		}
		name := r.Want.LoadBalancer.Name
		if live := plan.ShownLoadBalancer(r.Have, model.LoadBalancerID); live != nil {
			name = live.Name // the desired name contains a hash of the default scheme, live.Name a hash of the scheme in AWS
		}
		r.Findings.Add(finding.Finding{
			Object: a.Member, Reason: finding.LoadBalancerMoved,
			Message: fmt.Sprintf("load balancer %q will serve this %s%s; the status shows the previous load balancer until the new one has %s", name, a.Member.Kind, other, wait.For),
			Fix:     "to keep the previous load balancer, restore the annotation",
		})
	}
}

// arrivalWait returns the wait until the load balancer has all listeners and healthy targets of a member; the zero Wait if
// the load balancer already has them.
func (r memberMoves) arrivalWait(ref finding.Ref) plan.Wait {
	var pending []model.TargetGroupRef
	for _, l := range r.lb.Listeners {
		if !slices.Contains(l.Desired.Members, ref) {
			continue
		}
		to, live := equal.ForwardOf(l.Desired.Default), (*model.Forward)(nil)
		if l.Live != nil {
			live = equal.ForwardOf(l.Live.Default)
		}
		if to == nil || live == nil {
			return plan.Wait{For: fmt.Sprintf("a listener on port %d", l.Desired.Port)}
		}
		for i, g := range to.Groups {
			arn := r.traffic.TargetGroupARN(g.Group)
			if !slices.ContainsFunc(live.Groups, func(h model.WeightedTargetGroup) bool { return h.Group.ARN == arn }) {
				return plan.Wait{For: fmt.Sprintf("the targets of port %d", l.Desired.Port)}
			}
			if equal.EffectiveWeight(to.Groups, i) > 0 && g.Group.ID != "" && !r.traffic.IsReady(arn) {
				pending = append(pending, g.Group)
			}
		}
	}
	if len(pending) == 0 {
		return plan.Wait{}
	}
	return r.traffic.AwaitTargets("arrive "+ref.String(), "healthy targets", pending, finding.Origin{}, []finding.Ref{ref}, "the load balancer in the status")
}
