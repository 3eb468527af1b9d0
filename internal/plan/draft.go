package plan

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// draft is a plan in the making: what all parts of it read, and the steps to which they add. Of the
// desired state only want.Held changes, when a choice cannot be made.
type draft struct {
	*steps
	want   model.Stack
	have   observed.Stack
	opt    Options
	memory Memory
	known  Known
}

// members are those who answer for what concerns the whole stack: its objects, or, once it has none,
// those that are leaving it.
func (d *draft) members() []finding.Ref {
	all := d.want.Members
	if len(all) == 0 {
		all = d.want.Leaving
	}
	var out []finding.Ref
	for _, m := range all {
		out = append(out, m.Ref)
	}
	return out
}

// blameable returns the object if it is a member, and otherwise the first member, since class
// parameters and defaults get no events.
func (d *draft) blameable(r finding.Ref) finding.Ref {
	for _, m := range d.want.Members {
		if m.Ref == r {
			return r
		}
	}
	if len(d.want.Members) > 0 {
		return d.want.Members[0].Ref
	}
	return r
}

// tags are the complete tags of a resource of the stack.
func (d *draft) tags(resourceID string, user map[string]string) Tags {
	return naming.ResourceTags(d.opt.Cluster, d.want.ID, resourceID, user)
}

// ruleTags are the tags of a listener or rule, none where these are switched off.
func (d *draft) ruleTags(t Tags) Tags {
	if !d.opt.RuleTags {
		return nil
	}
	return t
}

// waitForTargets reports that a change waits for targets to be healthy.
func (d *draft) waitForTargets(of finding.Origin, members []finding.Ref, what string, wait Wait) {
	object := of.Object
	if object.IsZero() && len(members) > 0 {
		object = members[0]
	}
	d.found.Add(finding.Finding{
		Object: object, Field: of.Field, Reason: finding.WaitingForTargets,
		Message: fmt.Sprintf("%s waits for %s, for at most %s", what, wait.For, wait.Deadline), Fix: "check the pods and the health check if this does not pass",
	})
}
