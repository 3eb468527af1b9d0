package replacement

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Obstacle returns why no load balancer is made to take the place of a live one; empty if one is, or if
// there is none to replace.
func Obstacle(d *draft.Draft, lb *resolved.LoadBalancer) string {
	old := lb.ShownPrevious(d.Have)
	if old == nil || lb.Live != nil {
		return ""
	}
	if why := undeletableReason(d, lb, old); why != "" {
		return why
	}
	if d.Want.Held.Creation {
		return "the new one cannot be made, as another finding says"
	}
	for _, l := range lb.Listeners {
		for _, o := range old.Listeners {
			if !l.Planned && o.Port == l.Desired.Port && concernsRequester(lb, &l) {
				return fmt.Sprintf("the new one could not listen on port %d, as another finding says", o.Port)
			}
		}
	}
	return ""
}

// concernsAsker reports whether a port that the new load balancer could not have is of the namespace that asks for another
// scheme, or of all namespaces. A member whose port cannot be made would otherwise decide about the scheme of all others.
func concernsRequester(lb *resolved.LoadBalancer, l *resolved.Listener) bool {
	of := func(l *resolved.Listener) []string {
		if blocked := l.Certs.Blocked; len(blocked) > 0 && !l.Planned {
			return draft.Namespaces(blocked) // a Gateway has ports of ListenerSets as well
		}
		return draft.Namespaces(l.Desired.Members)
	}
	without := of(l)
	if slices.Contains(without, lb.Desired.Origins["scheme"].Object.Namespace) {
		return true
	}
	return !slices.ContainsFunc(lb.Listeners, func(o resolved.Listener) bool {
		return o.Planned && slices.ContainsFunc(of(&o), func(n string) bool { return !slices.Contains(without, n) })
	})
}

// undeletable returns why a load balancer could not be deleted; empty if it can be, or if that is asked for.
func undeletableReason(d *draft.Draft, lb *resolved.LoadBalancer, old *observed.LoadBalancer) string {
	if equal.SameAttribute(lb.Desired.Attributes[plan.ProtectionAttribute], "true") {
		return "protection from deletion is asked for"
	}
	if old.Attributes == nil {
		q := model.AskAttributes{Of: string(plan.LoadBalancer), ARN: old.ARN}
		if d.Unavailable(q) != nil {
			return "AWS does not say whether it is protected from deletion"
		}
		d.Ask(q)
		return ""
	}
	if equal.SameAttribute(old.Attributes[plan.ProtectionAttribute], "true") {
		return "it is protected from deletion"
	}
	return ""
}

// ReportHeld reports that a live load balancer stays although it is not as desired.
func ReportHeld(d *draft.Draft, live *observed.LoadBalancer, desired *model.LoadBalancer, why string) {
	if live == nil || desired == nil {
		return
	}
	what, from, to, then := "scheme", string(live.Scheme), string(desired.Scheme), "it keeps its scheme and serves"
	switch {
	case live.Type != desired.Type.String():
		what, from, to, then = "type", live.Type, desired.Type.String(), "it stays as it is"
	case live.Scheme == desired.Scheme:
		return
	}
	of := desired.Origins["scheme"]
	d.Findings.Add(finding.Finding{
		Object: d.EventObject(of.Object), Field: of.Field, Reason: finding.ReplacementHeld, Severity: finding.Error,
		Message: fmt.Sprintf("load balancer %q cannot change its %s from %q to %q, and is not replaced, because %s; %s", live.Name, what, from, to, why, then),
		Fix:     "remove what is in the way, or restore the former " + what,
	})
}
