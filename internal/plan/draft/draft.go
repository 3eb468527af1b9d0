package draft

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Draft is a plan in the making: what all parts of it read, and the steps to which they add. Of the
// desired state only want.Held changes, when a choice cannot be made.
type Draft struct {
	*Steps
	Want     model.Stack
	Have     observed.Stack
	Opt      plan.Options
	Memory   plan.Memory
	KnownIDs plan.KnownIDs
}

// Members returns the members that are responsible for what concerns the whole stack: its objects, or, once it has none,
// those that are leaving it.
func (d *Draft) Members() []finding.Ref {
	all := d.Want.Members
	if len(all) == 0 {
		all = d.Want.Leaving
	}
	var out []finding.Ref
	for _, m := range all {
		out = append(out, m.Ref)
	}
	return out
}

// Blameable returns the object if it is a member, and otherwise the first member, since class
// parameters and defaults get no events.
func (d *Draft) Blameable(r finding.Ref) finding.Ref {
	for _, m := range d.Want.Members {
		if m.Ref == r {
			return r
		}
	}
	if len(d.Want.Members) > 0 {
		return d.Want.Members[0].Ref
	}
	return r
}

// Tags returns the complete tags of a resource of the stack.
func (d *Draft) Tags(resourceID string, user map[string]string) plan.Tags {
	return naming.ResourceTags(d.Opt.Cluster, d.Want.ID, resourceID, user)
}

// RuleTags returns the tags of a listener or rule, none where these are switched off.
func (d *Draft) RuleTags(t plan.Tags) plan.Tags {
	if !d.Opt.RuleTags {
		return nil
	}
	return t
}

// WaitForTargets reports that a change waits for targets to be healthy. checked is false for those that AWS does not check
// yet, because nothing forwards to them, so that nothing is known of the pods.
func (d *Draft) WaitForTargets(of finding.Origin, members []finding.Ref, what string, wait plan.Wait, checked bool) {
	object := of.Object
	if object.IsZero() && len(members) > 0 {
		object = members[0]
	}
	message, fix := fmt.Sprintf("%s waits for %s, for at most %s", what, wait.For, wait.Deadline), "check the pods and the health check if this does not pass"
	if !checked {
		message, fix = message+"; AWS checks the targets once a rule forwards to them", "check the pods and the health check if they are not healthy then"
	}
	d.Found.Add(finding.Finding{Object: object, Field: of.Field, Reason: finding.WaitingForTargets, Message: message, Fix: fix})
}

// FrontendStays reports whether nothing about the frontend NLB may change.
func (d *Draft) FrontendStays() bool {
	return d.Want.FrontendNLB != nil && d.Want.Held.Frontend
}
