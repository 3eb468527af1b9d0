package planner

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
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// holdReplacements returns the stack with the schemes of live load balancers that are not replaced. One whose
// type is another cannot have the desired listeners, so everything stays.
func holdReplacements(want model.Stack, have observed.Stack) model.Stack {
	live := plan.Serving(have, model.LoadBalancerID)
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

// planSwitch has the status show a load balancer instead of its previous load balancers, once it serves as they do. made
// are the steps that bring it about.
func (b *builder) planSwitch(lb *resolved.LoadBalancer, made []plan.Step) {
	lb.Switched = true
	old := lb.Serving(b.Have)
	if old != nil && lb.Live != nil && plan.Serving(b.Have, lb.ID).ARN != lb.Live.ARN {
		if lb.Until = b.readiness(lb, old, made); lb.Until.For != "" {
			lb.Switched = false
			return
		}
	}
	if lb.Live == nil {
		lb.Switched = old == nil
		lb.Until = plan.Wait{For: "the new load balancer to be made"}
		return
	}
	var marks []plan.StepID
	for _, o := range lb.Predecessors {
		if o.Tags[naming.ReplacedTag] != "" {
			continue
		}
		a := plan.Address{Kind: plan.LoadBalancer, ID: o.ARN}
		since := b.Have.Facts.Now.UTC().Format(time.RFC3339)
		tags := plan.Tags{naming.ReplacedTag: since}
		for k, v := range o.Tags {
			if !strings.HasPrefix(k, "aws:") { // these do not count
				tags[k] = v
			}
		}
		remove := draft.WithRoom(tags)
		changes := []plan.Change{{Path: "tags." + naming.ReplacedTag, To: since}}
		for _, k := range remove {
			changes = append(changes, plan.Change{Path: "tags." + k, From: o.Tags[k]})
		}
		marks = append(marks, b.Add(plan.Step{
			ID: plan.NewStepID("replaced", a), Address: a, Verb: plan.Update,
			Do:      plan.SetTags{Of: a, Put: plan.Tags{naming.ReplacedTag: since}, Remove: remove, RemoveFirst: len(remove) > 0},
			Changes: changes,
			Why:     "the status shows " + lb.Live.Name + " from now on", Impact: plan.ReplaceImpact, Blames: b.Members(),
		}))
	}
	b.unmark(lb, marks)
}

// unmark takes the tags of a replacement off a load balancer that the status shows.
func (b *builder) unmark(lb *resolved.LoadBalancer, after []plan.StepID) {
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
	b.Add(plan.Step{
		ID: plan.NewStepID("serving", a), Address: a, Verb: plan.Update, Do: plan.SetTags{Of: a, Remove: remove}, Changes: changes,
		Why: "the status shows it", After: after, Blames: b.Members(),
	})
}

// readiness is what a new load balancer lacks to serve as its previous load balancer does; a zero Wait if nothing.
func (b *builder) readiness(lb *resolved.LoadBalancer, old *observed.LoadBalancer, made []plan.Step) plan.Wait {
	live := lb.Live
	if live.State == observed.Provisioning || live.State == "failed" {
		b.Ask(model.AskState{ARN: live.ARN})
		wait := b.Wait("active "+live.ARN, "the new load balancer to be active", draft.LongestWait)
		return plan.Wait{For: "the new load balancer to be active", Again: max(wait.Again, 2*draft.FirstPoll)}
	}
	if lacks := lacks(lb, old, made); lacks != "" {
		// What AWS refuses for one member must not keep the others from theirs.
		if wait := b.Wait("complete "+live.ARN, "the new load balancer to have "+lacks, draft.LongestWait); wait.For != "" {
			return wait
		}
		b.Found.Add(finding.Finding{
			Object: b.Blameable(finding.Ref{}), Reason: finding.WaitExpired, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancer %q takes the place of %q after %s although it does not have %s yet", live.Name, old.Name, draft.LongestWait, lacks),
			Fix:     "correct what the other findings name",
		})
	}
	pending := b.unready(lb, old)
	if len(pending) == 0 {
		return plan.Wait{}
	}
	deadline := b.Traffic.TargetsDeadline(pending)
	wait := b.Wait("serve "+live.ARN, "healthy targets in "+plan.RefTexts(pending), deadline)
	if wait.For == "" {
		b.Expired(finding.Origin{}, b.Members(), "the load balancer that takes the place of "+old.Name, pending, deadline)
	}
	return wait
}

// lacks is what a new load balancer does not have yet; empty if it is complete.
func lacks(lb *resolved.LoadBalancer, old *observed.LoadBalancer, made []plan.Step) string {
	for _, l := range lb.Listeners {
		if l.Live == nil && slices.ContainsFunc(old.Listeners, func(o observed.Listener) bool { return o.Port == l.Desired.Port }) {
			return fmt.Sprintf("a listener on port %d", l.Desired.Port)
		}
	}
	if slices.ContainsFunc(made, concerns) {
		return "all that was planned for it"
	}
	return ""
}

// concerns reports whether a step changes what a new load balancer does.
func concerns(s plan.Step) bool {
	if s.Verb == plan.Delete {
		return false
	}
	switch s.Address.Kind {
	case plan.SecurityGroup, plan.BackendGroup, plan.TargetGroup, plan.LoadBalancer, plan.Listener, plan.Rule, plan.Binding, plan.WebACL, plan.ClassicACL, plan.Protection, plan.ALBTarget:
		return true
	}
	return false
}

// unready are the target groups of a new load balancer that have no healthy targets while those of its
// previous load balancer for the same backend have.
func (b *builder) unready(lb *resolved.LoadBalancer, old *observed.LoadBalancer) []model.GroupRef {
	before := map[string][]string{}
	equal.EachForward(old.Listeners, func(arn string) {
		if id := b.IDOf[arn]; id != "" && !slices.Contains(before[id], arn) {
			before[id] = append(before[id], arn)
		}
	})
	var out []model.GroupRef
	seen := map[string]bool{}
	equal.EachForward(lb.Live.Listeners, func(arn string) {
		id := b.IDOf[arn]
		if seen[arn] || len(before[id]) == 0 {
			return
		}
		seen[arn] = true
		if !b.Traffic.Ready(arn) && b.Traffic.Serving(before[id]) {
			out = append(out, model.GroupRef{ID: id})
		}
	})
	return out
}

// planPredecessors deletes load balancers whose place others have taken, when clients have had time to
// follow. One in front of another goes before that.
func (b *builder) planPredecessors() {
	var frontend plan.Wait
	for _, lb := range []*resolved.LoadBalancer{&b.frontend.LoadBalancer, &b.LoadBalancer} {
		for _, old := range lb.Predecessors {
			wait := b.deletionWait(lb, old)
			if wait.For == "" && !lb.IsFrontend() {
				wait = frontend
			}
			if wait.For == "" {
				b.deleteLoadBalancer(*old, "clients have had time to resolve "+lb.Desired.Name, b.DetachEverywhere(old.ARN, nil))
				continue
			}
			if lb.IsFrontend() {
				frontend = wait
			}
			b.keepServing(lb, old)
			a := plan.Address{Kind: plan.LoadBalancer, ID: old.ARN}
			b.Add(plan.Step{
				ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteLoadBalancer{ARN: old.ARN},
				Changes: []plan.Change{{Path: "name", From: old.Name}}, Why: "another load balancer replaces it",
				Impact: plan.ReplaceImpact, Wait: wait, Blames: b.Members(),
			})
		}
		b.reportReplacement(lb)
	}
}

// deletionWait is what the deletion of a previous load balancer waits for.
func (b *builder) deletionWait(lb *resolved.LoadBalancer, old *observed.LoadBalancer) plan.Wait {
	if !lb.Switched {
		return lb.Until
	}
	rest := max(b.Opt.DeletionDelay, time.Second)
	if since, err := time.Parse(time.RFC3339, old.Tags[naming.ReplacedTag]); err == nil {
		rest = min(b.Opt.DeletionDelay, since.Add(b.Opt.DeletionDelay).Sub(b.Have.Facts.Now))
	}
	if rest <= 0 {
		return plan.Wait{}
	}
	return plan.Wait{For: "clients to follow DNS to the new load balancer", Again: rest}
}

// keepServing keeps what a previous load balancer forwards to. Rules of members that leave go at once.
func (b *builder) keepServing(lb *resolved.LoadBalancer, old *observed.LoadBalancer) {
	leaving := map[finding.Ref]bool{}
	for _, m := range b.Want.Leaving {
		leaving[m.Ref] = true
	}
	left := func(as []model.Action) bool {
		owners := b.OwnersOf(as)
		return len(owners) > 0 && !slices.ContainsFunc(owners, func(r finding.Ref) bool { return !leaving[r] })
	}
	for i := range old.Listeners {
		l := resolved.Listener{LB: lb, Live: &old.Listeners[i]}
		if len(leaving) > 0 && old.Type == model.Application.String() {
			l.StrangeDefault = left(l.Live.Default)
			for _, r := range l.Live.Rules {
				if left(r.Actions) {
					l.ForeignMembers = append(l.ForeignMembers, r)
				}
			}
			b.listenerPlanner(&l, nil).RemoveForeignMembers(nil)
		}
		stays := l.Staying()
		b.Keep(stays.Default)
		for _, r := range stays.Rules {
			b.Keep(r.Actions)
		}
	}
}

// reportReplacement reports that a load balancer is being replaced.
func (b *builder) reportReplacement(lb *resolved.LoadBalancer) {
	old := lb.Serving(b.Have)
	if lb.Gap != "" && len(b.Want.Members) > 0 {
		b.Found.Add(finding.Finding{
			Object: b.Want.Members[0].Ref, Reason: finding.ReplacedWithGap, Severity: finding.Warning,
			Message: fmt.Sprintf("two load balancers cannot both have %s; the live one is deleted before its successor is made, and nothing serves meanwhile", lb.Gap),
			Fix:     "to replace a load balancer without a gap, change or remove that setting in the same edit",
		})
	}
	if old == nil || len(b.Want.Members) == 0 {
		return
	}
	b.Found.Add(finding.Finding{
		Object: b.Want.Members[0].Ref, Reason: finding.LoadBalancerReplaced,
		Message: fmt.Sprintf("load balancer %q cannot change its %s; a new load balancer replaces it, the status shows the new one when it serves, and %q is deleted %s later",
			old.Name, lb.Unlike(old), old.Name, b.Opt.DeletionDelay),
		Fix: "to go back without a new load balancer, restore the former value before the old one is deleted",
	})
}
