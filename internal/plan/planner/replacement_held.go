package planner

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// protectionAttribute is the attribute that keeps a load balancer from being deleted.
const protectionAttribute = "deletion_protection.enabled"

// irreplaceable says why no load balancer is made to take the place of a live one; empty if one is, or if
// there is none to replace.
func (b *builder) irreplaceable() string {
	old := b.LoadBalancer.Serving(b.Have)
	if old == nil || b.Live != nil {
		return ""
	}
	if why := b.undeletable(old); why != "" {
		return why
	}
	if b.Want.Held.Creation {
		return "the new one cannot be made, as another finding says"
	}
	for _, l := range b.Listeners {
		for _, o := range old.Listeners {
			if !l.Make && o.Port == l.Desired.Port {
				return fmt.Sprintf("the new one could not listen on port %d, as another finding says", o.Port)
			}
		}
	}
	return ""
}

// undeletable says why a load balancer could not be deleted; empty if it can be, or if that is asked for.
func (b *builder) undeletable(old *observed.LoadBalancer) string {
	if equal.SameAttribute(b.Desired.Attributes[protectionAttribute], "true") {
		return "protection from deletion is asked for"
	}
	if old.Attributes == nil {
		q := model.AskAttributes{Of: string(plan.LoadBalancer), ARN: old.ARN}
		if b.Unavailable(q) != nil {
			return "AWS does not say whether it is protected from deletion"
		}
		b.Ask(q)
		return ""
	}
	if equal.SameAttribute(old.Attributes[protectionAttribute], "true") {
		return "it is protected from deletion"
	}
	return ""
}

// heldReplacement plans without the replacement of a load balancer that cannot be replaced now: it goes on to
// serve, and everything else is carried out on it.
func (b *builder) heldReplacement(want model.Stack, have observed.Stack, why string) *builder {
	want.Held.Replacement = true
	held := planOf(want, have, b.Opt, b.Memory)
	for _, f := range b.Found {
		if f.Severity == finding.Error {
			f.Blocks = finding.BlocksNothing
			held.Found.Add(f)
		}
	}
	held.reportReplacementHeld(b.Desired, why)
	if equal.SameAttribute(b.Desired.Attributes[protectionAttribute], "false") {
		held.Again(draft.FirstPoll) // this plan may lift the protection
	}
	return held
}

// retainBlocked keeps a load balancer that was to take the place of another and lacks something that AWS refuses, and
// reports whether it is one. To make it again with each try would cost more than to keep it.
func (b *builder) retainBlocked(lb observed.LoadBalancer) bool {
	if !b.Want.Held.Replacement || lb.Tags[naming.SuccessorTag] == "" {
		return false
	}
	equal.EachForward(lb.Listeners, func(arn string) { b.Kept[arn] = true })
	return true
}

// reportReplacementHeld reports that a live load balancer stays although it is not as desired.
func (b *builder) reportReplacementHeld(desired *model.LoadBalancer, why string) {
	if b.Live == nil || desired == nil || b.Live.Scheme == desired.Scheme {
		return
	}
	of := desired.Origins["scheme"]
	b.Found.Add(finding.Finding{
		Object: b.Blameable(of.Object), Field: of.Field, Reason: finding.ReplacementHeld, Severity: finding.Error,
		Message: fmt.Sprintf("load balancer %q cannot change its scheme from %q to %q, and is not replaced, because %s; it keeps its scheme and serves",
			b.Live.Name, b.Live.Scheme, desired.Scheme, why),
		Fix: "remove what is in the way, or restore the former scheme",
	})
}
