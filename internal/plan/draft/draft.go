package draft

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Draft is an unfinished plan: the input that all planners of a stack read, and the steps that they add. The planners do not
// change the desired state, except Want.Held if they cannot make a decision.
type Draft struct {
	*Steps
	Want     model.Stack
	Have     observed.Stack
	Opt      plan.Options
	Memory   plan.Memory
	KnownIDs plan.KnownIDs
}

// Members returns the members on which changes of the whole stack are reported: the members of the stack, or the leaving
// members if the stack has no other members.
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

// EventObject returns the object on which a finding is reported: r if r is a member, and otherwise the first member.
// Settings can also come from class parameters and controller defaults, which get no events.
func (d *Draft) EventObject(r finding.Ref) finding.Ref {
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

// Tags returns all tags of a resource of the stack: the tags of users and the tracking tags.
func (d *Draft) Tags(resourceID string, user map[string]string) plan.Tags {
	return naming.ResourceTags(d.Opt.Cluster, d.Want.ID, resourceID, user)
}

// RuleTags returns the tags of a listener or rule; nil if the controller does not tag listeners and rules.
func (d *Draft) RuleTags(t plan.Tags) plan.Tags {
	if !d.Opt.RuleTags {
		return nil
	}
	return t
}

// ReportTargetWait reports that a change waits for healthy targets. what describes the change. checked is false if no
// listener or rule forwards to the targets, so that AWS does not check them yet and their health is unknown.
func (d *Draft) ReportTargetWait(of finding.Origin, members []finding.Ref, what string, wait plan.Wait, checked bool) {
	object := of.Object
	if object.IsZero() && len(members) > 0 {
		object = members[0]
	}
	message, fix := fmt.Sprintf("%s waits for %s, for at most %s", what, wait.For, wait.Deadline), "check the pods and the health check if the targets do not become healthy"
	if !checked {
		message, fix = message+"; AWS checks the targets once a rule forwards to them", "check the pods and the health check if the targets are not healthy then"
	}
	d.Findings.Add(finding.Finding{Object: object, Field: of.Field, Reason: finding.WaitingForTargets, Message: message, Fix: fix})
}

// IsFrontendHeld reports whether a frontend NLB is desired and held as a whole.
func (d *Draft) IsFrontendHeld() bool {
	return d.Want.FrontendNLB != nil && d.Want.Held.Frontend
}
