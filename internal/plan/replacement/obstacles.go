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

// Obstacle returns the reason why an existing load balancer cannot be replaced; empty if it is replaced, or if there is no
// load balancer to replace.
func Obstacle(d *draft.Draft, lb *resolved.LoadBalancer) string {
	old := lb.ShownPrevious(d.Have)
	if old == nil || lb.Live != nil {
		return ""
	}
	if why := undeletableReason(d, lb, old); why != "" {
		return why
	}
	if d.Want.Held.Creation {
		return "the new one cannot be created, as another finding explains"
	}
	for _, l := range lb.Listeners {
		for _, o := range old.Listeners {
			if !l.Planned && o.Port == l.Desired.Port && concernsRequester(lb, &l) {
				return fmt.Sprintf("the new one could not listen on port %d, as another finding explains", o.Port)
			}
		}
	}
	return ""
}

// concernsRequester reports whether the listener l, which the new load balancer could not have, prevents the replacement.
// This is the case if l belongs to the namespace that requests the new scheme, or if all planned listeners belong only to
// the namespaces of l. Without this check, a member with a faulty port could prevent the new scheme for all other members.
func concernsRequester(lb *resolved.LoadBalancer, l *resolved.Listener) bool {
	namespaces := func(l *resolved.Listener) []string {
		if blocked := l.Certs.BlockedMembers; len(blocked) > 0 && !l.Planned {
			return draft.Namespaces(blocked) // the owners may be ListenerSets
		}
		return draft.Namespaces(l.Desired.Members)
	}
	affected := namespaces(l)
	if slices.Contains(affected, lb.Desired.Origins["scheme"].Object.Namespace) {
		return true
	}
	return !slices.ContainsFunc(lb.Listeners, func(o resolved.Listener) bool {
		return o.Planned && slices.ContainsFunc(namespaces(&o), func(n string) bool { return !slices.Contains(affected, n) })
	})
}

// undeletableReason returns the reason why a load balancer cannot be deleted; empty if it can be deleted, or if its
// attributes are not known yet.
func undeletableReason(d *draft.Draft, lb *resolved.LoadBalancer, old *observed.LoadBalancer) string {
	if equal.SameAttribute(lb.Desired.Attributes[plan.DeletionProtectionAttribute], "true") {
		return "an object requests deletion protection"
	}
	if old.Attributes == nil {
		q := model.AskAttributes{Of: string(plan.LoadBalancer), ARN: old.ARN}
		if d.ReadFault(q) != nil {
			return "AWS does not return whether it has deletion protection"
		}
		d.Ask(q)
		return ""
	}
	if equal.SameAttribute(old.Attributes[plan.DeletionProtectionAttribute], "true") {
		return "it has deletion protection"
	}
	return ""
}

// ReportHeldReplacement reports that an existing load balancer is not replaced although its scheme or type is not as
// desired.
func ReportHeldReplacement(d *draft.Draft, live *observed.LoadBalancer, desired *model.LoadBalancer, why string) {
	if live == nil || desired == nil {
		return
	}
	what, from, to, then := "scheme", string(live.Scheme), string(desired.Scheme), "it keeps its scheme and still serves"
	switch {
	case live.Type != desired.Type.String():
		what, from, to, then = "type", live.Type, desired.Type.String(), "it stays unchanged"
	case live.Scheme == desired.Scheme:
		return
	}
	of := desired.Origins["scheme"]
	d.Findings.Add(finding.Finding{
		Object: d.EventObject(of.Object), Field: of.Field, Reason: finding.ReplacementHeld, Severity: finding.Error,
		Message: fmt.Sprintf("load balancer %q cannot change its %s from %q to %q, and is not replaced, because %s; %s", live.Name, what, from, to, why, then),
		Fix:     "correct the cause that the message names, or restore the previous " + what,
	})
}
