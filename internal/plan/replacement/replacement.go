package replacement

import (
	"fmt"
	"slices"
	"strings"
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
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
)

// Planner plans the replacement of load balancers.
type Planner struct {
	*draft.Draft
	groups        *owners.TargetGroups
	traffic       *traffic.Traffic
	usage         *draft.Usage
	albs          *targetgroups.Attachments
	loadBalancers *loadbalancers.Planner
	listeners     *listeners.Set
}

// NewPlanner returns the planner of replacements of a stack.
func NewPlanner(t *traffic.Traffic, u *draft.Usage, albs *targetgroups.Attachments, lbs *loadbalancers.Planner, ls *listeners.Set) *Planner {
	return &Planner{t.Draft, t.TargetGroups, t, u, albs, lbs, ls}
}

// HoldSchemes returns the stack with the schemes of live load balancers that are not replaced. One whose
// type is another cannot have the desired listeners, so everything stays.
func HoldSchemes(want model.Stack, have observed.Stack) model.Stack {
	live := plan.ShownLoadBalancer(have, model.LoadBalancerID)
	if !want.Held.Replacement || want.LoadBalancer == nil || live == nil {
		return want
	}
	if live.Type != want.LoadBalancer.Type.String() {
		want.Held.Everything = true
		return want
	}
	lb := *want.LoadBalancer
	lb.Scheme, lb.Name = live.Scheme, live.Name
	want.LoadBalancer = &lb
	return want
}

// SwitchStatus makes the status show a load balancer instead of the previous ones, once it serves as they do. made
// are the steps that create and change it.
func (p *Planner) SwitchStatus(lb *resolved.LoadBalancer, made []plan.Step) {
	lb.Switched = true
	old := lb.ShownPrevious(p.Have)
	if old != nil && lb.Live != nil && plan.ShownLoadBalancer(p.Have, lb.ID).ARN != lb.Live.ARN {
		if lb.SwitchWait = p.readinessWait(lb, old, made); lb.SwitchWait.For != "" {
			lb.Switched = false
			return
		}
	}
	if lb.Live == nil {
		lb.Switched = old == nil
		lb.SwitchWait = plan.Wait{For: "the new load balancer to be made"}
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
			if !strings.HasPrefix(k, "aws:") { // these do not count
				tags[k] = v
			}
		}
		remove := draft.TrimTags(tags)
		changes := []plan.Change{{Path: "tags." + naming.ReplacedTag, To: since}}
		for _, k := range remove {
			changes = append(changes, plan.Change{Path: "tags." + k, From: o.Tags[k]})
		}
		marks = append(marks, p.Add(plan.Step{
			ID: plan.NewStepID("replaced", a), Address: a, Verb: plan.Update,
			Do:      plan.SetTags{Of: a, Put: plan.Tags{naming.ReplacedTag: since}, Remove: remove, RemoveFirst: len(remove) > 0},
			Changes: changes,
			Why:     "the status shows " + lb.Live.Name + " from now on", Impact: plan.ReplaceImpact, Blames: p.Members(),
		}))
	}
	p.removeProgressTags(lb, marks)
}

// unmark takes the tags of a replacement off a load balancer that the status shows.
func (p *Planner) removeProgressTags(lb *resolved.LoadBalancer, after []plan.StepID) {
	var remove []string
	var changes []plan.Change
	for _, k := range []string{naming.ReplacedTag, naming.SuccessorTag} {
		if v := lb.Live.Tags[k]; v != "" {
			remove = append(remove, k)
			changes = append(changes, plan.Change{Path: "tags." + k, From: v})
		}
	}
	if len(remove) == 0 {
		return
	}
	a := lb.Address()
	p.Add(plan.Step{
		ID: plan.NewStepID("serving", a), Address: a, Verb: plan.Update, Do: plan.SetTags{Of: a, Remove: remove}, Changes: changes,
		Why: "the status shows it", After: after, Blames: p.Members(),
	})
}

// readinessWait returns what a new load balancer lacks to serve like the previous one; the zero Wait if it lacks
// nothing.
func (p *Planner) readinessWait(lb *resolved.LoadBalancer, old *observed.LoadBalancer, made []plan.Step) plan.Wait {
	live := lb.Live
	if live.State == observed.Provisioning || live.State == "failed" {
		p.Ask(model.AskState{ARN: live.ARN})
		wait := p.Wait("active "+live.ARN, "the new load balancer to be active", durations.LongestWait)
		return plan.Wait{For: "the new load balancer to be active", RetryAfter: max(wait.RetryAfter, 2*durations.FirstPoll)}
	}
	if lacks := missingParts(lb, old, made); lacks != "" {
		// What AWS refuses for one member must not keep the others from theirs.
		if wait := p.Wait("complete "+live.ARN, "the new load balancer to have "+lacks, durations.LongestWait); wait.For != "" {
			return wait
		}
		p.Findings.Add(finding.Finding{
			Object: p.EventObject(finding.Ref{}), Reason: finding.WaitExpired, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancer %q takes the place of %q after %s although it does not have %s yet", live.Name, old.Name, durations.LongestWait, lacks),
			Fix:     "correct what the other findings name",
		})
	}
	pending := p.unready(lb, old)
	if len(pending) == 0 {
		return plan.Wait{}
	}
	deadline := p.traffic.TargetsDeadline(pending)
	wait := p.Wait("serve "+live.ARN, "healthy targets in "+plan.TargetGroupNames(pending), deadline)
	if wait.For == "" {
		p.ReportExpiredWait(finding.Origin{}, p.Members(), "the load balancer that takes the place of "+old.Name, pending, deadline)
	}
	return wait
}

// missingParts returns what a new load balancer does not have yet; empty if it is complete.
func missingParts(lb *resolved.LoadBalancer, old *observed.LoadBalancer, made []plan.Step) string {
	for _, l := range lb.Listeners {
		if l.Live == nil && slices.ContainsFunc(old.Listeners, func(o observed.Listener) bool { return o.Port == l.Desired.Port }) {
			return fmt.Sprintf("a listener on port %d", l.Desired.Port)
		}
	}
	if slices.ContainsFunc(made, affectsServing) {
		return "all that was planned for it"
	}
	return ""
}

// affectsServing reports whether a step changes what a new load balancer serves.
func affectsServing(s plan.Step) bool {
	if s.Verb == plan.Delete {
		return false
	}
	switch s.Address.Kind {
	case plan.SecurityGroup, plan.BackendGroup, plan.TargetGroup, plan.LoadBalancer, plan.Listener, plan.Rule, plan.Binding, plan.WebACL, plan.ClassicACL, plan.Protection, plan.ALBTarget:
		return true
	}
	return false
}

// unready returns the target groups of a new load balancer that have no healthy targets while those of its
// previous load balancer for the same backend have.
func (p *Planner) unready(lb *resolved.LoadBalancer, old *observed.LoadBalancer) []model.GroupRef {
	before := map[string][]string{}
	equal.EachForward(old.Listeners, func(arn string) {
		if id := p.groups.GroupID[arn]; id != "" && !slices.Contains(before[id], arn) {
			before[id] = append(before[id], arn)
		}
	})
	var out []model.GroupRef
	seen := map[string]bool{}
	equal.EachForward(lb.Live.Listeners, func(arn string) {
		id := p.groups.GroupID[arn]
		if seen[arn] || len(before[id]) == 0 {
			return
		}
		seen[arn] = true
		if !p.traffic.Ready(arn) && p.traffic.AnyServing(before[id]) {
			out = append(out, model.GroupRef{ID: id})
		}
	})
	return out
}

// DeletePrevious plans to delete previous load balancers when clients have had time to follow. A frontend NLB is
// deleted before the ALB behind it.
func (p *Planner) DeletePrevious(lb, frontend *resolved.LoadBalancer) {
	var inFront plan.Wait
	for _, lb := range []*resolved.LoadBalancer{frontend, lb} {
		for _, old := range lb.Previous {
			wait := p.deletionWait(lb, old)
			if wait.For == "" && !lb.IsFrontend() {
				wait = inFront
			}
			if wait.For == "" {
				p.loadBalancers.DeleteReplaced(*old, "clients have had time to resolve "+lb.Desired.Name, p.albs.DetachEverywhere(old.ARN, nil))
				continue
			}
			if lb.IsFrontend() {
				inFront = wait
			}
			p.keepServing(lb, old)
			a := plan.Address{Kind: plan.LoadBalancer, ID: old.ARN}
			p.Add(plan.Step{
				ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteLoadBalancer{ARN: old.ARN},
				Changes: []plan.Change{{Path: "name", From: old.Name}}, Why: "another load balancer replaces it",
				Impact: plan.ReplaceImpact, Wait: wait, Blames: p.Members(), Replaced: old.Name,
			})
		}
		p.reportReplacement(lb)
	}
}

// deletionWait returns what the deletion of a previous load balancer waits for. That it is no endpoint of an
// accelerator any more is asked where the deletion is planned (internal/plan/loadbalancers).
func (p *Planner) deletionWait(lb *resolved.LoadBalancer, old *observed.LoadBalancer) plan.Wait {
	if !lb.Switched {
		return lb.SwitchWait
	}
	rest := max(p.Opt.DeletionDelay, time.Second)
	if since, err := time.Parse(time.RFC3339, old.Tags[naming.ReplacedTag]); err == nil {
		rest = min(p.Opt.DeletionDelay, since.Add(p.Opt.DeletionDelay).Sub(p.Have.Facts.Now))
	}
	if rest <= 0 {
		return plan.Wait{}
	}
	return plan.Wait{For: "clients to follow DNS to the new load balancer", RetryAfter: rest}
}

// keepServing keeps what a previous load balancer forwards to. Rules of members that leave go at once.
func (p *Planner) keepServing(lb *resolved.LoadBalancer, old *observed.LoadBalancer) {
	leaving := map[finding.Ref]bool{}
	for _, m := range p.Want.Leaving {
		leaving[m.Ref] = true
	}
	left := func(as []model.Action) bool {
		owners := p.groups.OwnersOf(as)
		return len(owners) > 0 && !slices.ContainsFunc(owners, func(r finding.Ref) bool { return !leaving[r] })
	}
	for i := range old.Listeners {
		l := resolved.Listener{LB: lb, Live: &old.Listeners[i]}
		if len(leaving) > 0 && old.Type == model.Application.String() {
			l.ForeignDefault = left(l.Live.Default)
			for _, r := range l.Live.Rules {
				if left(r.Actions) {
					l.ForeignRules = append(l.ForeignRules, r)
				}
			}
			p.listeners.RemoveForeignRules(&l)
		}
		stays := l.WithoutForeign()
		p.usage.KeepGroups(stays.Default)
		for _, r := range stays.Rules {
			p.usage.KeepGroups(r.Actions)
		}
	}
}

// reportReplacement reports that a load balancer is being replaced.
func (p *Planner) reportReplacement(lb *resolved.LoadBalancer) {
	old := lb.ShownPrevious(p.Have)
	if lb.Conflict != "" && len(p.Want.Members) > 0 {
		p.Findings.Add(finding.Finding{
			Object: p.Want.Members[0].Ref, Reason: finding.ReplacedWithGap, Severity: finding.Warning,
			Message: fmt.Sprintf("two load balancers cannot both have %s; the live one is deleted before its successor is made, and nothing serves meanwhile", lb.Conflict),
			Fix:     "to replace a load balancer without a gap, change or remove that setting in the same edit",
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
		Fix: "to go back without a new load balancer, restore the former value before the old one is deleted",
	})
}
