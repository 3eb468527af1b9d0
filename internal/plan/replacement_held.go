package plan

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// protectionAttribute is the attribute that keeps a load balancer from being deleted.
const protectionAttribute = "deletion_protection.enabled"

// irreplaceable says why no load balancer is made to take the place of a live one; empty if one is, or if
// there is none to replace.
func (b *builder) irreplaceable() string {
	old := b.loadBalancerPlan.serving(b.have)
	if old == nil || b.live != nil {
		return ""
	}
	if why := b.undeletable(old); why != "" {
		return why
	}
	if b.want.Held.Creation {
		return "the new one cannot be made, as another finding says"
	}
	for _, l := range b.listeners {
		for _, o := range old.Listeners {
			if !l.make && o.Port == l.desired.Port {
				return fmt.Sprintf("the new one could not listen on port %d, as another finding says", o.Port)
			}
		}
	}
	return ""
}

// undeletable says why a load balancer could not be deleted; empty if it can be, or if that is asked for.
func (b *builder) undeletable(old *observed.LoadBalancer) string {
	if SameAttribute(b.desired.Attributes[protectionAttribute], "true") {
		return "protection from deletion is asked for"
	}
	if old.Attributes == nil {
		q := model.AskAttributes{Of: string(LoadBalancer), ARN: old.ARN}
		if b.unavailable(q) != nil {
			return "AWS does not say whether it is protected from deletion"
		}
		b.ask(q)
		return ""
	}
	if SameAttribute(old.Attributes[protectionAttribute], "true") {
		return "it is protected from deletion"
	}
	return ""
}

// heldReplacement plans without the replacement of a load balancer that cannot be replaced now: it goes on to
// serve, and everything else is carried out on it.
func (b *builder) heldReplacement(want model.Stack, have observed.Stack, why string) *builder {
	want.Held.Replacement = true
	held := planOf(want, have, b.opt, b.memory)
	for _, f := range b.found {
		if f.Severity == finding.Error {
			f.Blocks = finding.BlocksNothing
			held.found.Add(f)
		}
	}
	held.reportReplacementHeld(b.desired, why)
	if SameAttribute(b.desired.Attributes[protectionAttribute], "false") {
		held.again(firstPoll) // this plan may lift the protection
	}
	return held
}

// retainBlocked keeps a load balancer that was to take the place of another and lacks something that AWS refuses, and
// reports whether it is one. To make it again with each try would cost more than to keep it.
func (b *builder) retainBlocked(lb observed.LoadBalancer) bool {
	if !b.want.Held.Replacement || lb.Tags[naming.SuccessorTag] == "" {
		return false
	}
	eachForward(lb.Listeners, func(arn string) { b.kept[arn] = true })
	return true
}

// reportReplacementHeld reports that a live load balancer stays although it is not as desired.
func (b *builder) reportReplacementHeld(desired *model.LoadBalancer, why string) {
	if b.live == nil || desired == nil || b.live.Scheme == desired.Scheme {
		return
	}
	of := desired.Origins["scheme"]
	b.found.Add(finding.Finding{
		Object: b.blameable(of.Object), Field: of.Field, Reason: finding.ReplacementHeld, Severity: finding.Error,
		Message: fmt.Sprintf("load balancer %q cannot change its scheme from %q to %q, and is not replaced, because %s; it keeps its scheme and serves",
			b.live.Name, b.live.Scheme, desired.Scheme, why),
		Fix: "remove what is in the way, or restore the former scheme",
	})
}
