package plan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// What AWS denies to be read, or fails to answer, is not known, and is never written: the part of
// the load balancer that depends on it is held, and whoever asks for that part gets the finding.
// Everything else goes on.

// unread returns why a question has no answer, nil if it has one or is still to be asked. The plan
// is made again when the question is.
func (b *builder) unread(q model.Question) *observed.Fault {
	f := b.have.Facts.Fault(q)
	if f != nil {
		b.again(f.Again)
	}
	return f
}

// again has the plan made again after a time at the latest.
func (b *builder) again(d time.Duration) {
	if b.plan.Again == 0 || d < b.plan.Again {
		b.plan.Again = d
	}
}

// tellUnread reports what happens for want of an answer to those who need it.
func (b *builder) tellUnread(f observed.Fault, now string, reach finding.Reach, of ...finding.Origin) {
	if f.Message == "" {
		return // it only waits for its turn
	}
	if of = slices.Clone(of); len(of) == 0 {
		of = originsOf(b.members()[:min(len(b.members()), 1)])
	}
	for _, o := range of {
		b.found.Add(finding.Finding{
			Object: b.blameable(o.Object), Field: o.Field, Reason: f.Reason, Severity: finding.Error,
			Message: f.Message + "; " + now, Fix: wayOut(f), Blocks: reach,
		})
	}
}

// wayOut is what to do about a fault.
func wayOut(f observed.Fault) string {
	switch f.Reason {
	case finding.AccessDenied:
		if f.Action == "" {
			return "add the permission to the controller's IAM policy"
		}
		return "add " + f.Action + " to the controller's IAM policy"
	case finding.RejectedByAWS:
		return "correct the value that AWS names"
	}
	return "the controller asks again; if this does not pass, check the service in the account and region"
}

// originsOf are members as the origins of what they ask for.
func originsOf(members []finding.Ref) []finding.Origin {
	var out []finding.Origin
	for _, m := range members {
		out = append(out, finding.Origin{Object: m})
	}
	return out
}

// unreadHealth reports whether the health of a target group cannot be read. What waits for its
// targets goes on to wait, as if they were not healthy yet.
func (b *builder) unreadHealth(arn string) bool {
	f := b.unread(model.AskHealth{ARN: arn})
	if f == nil {
		return false
	}
	var of []finding.Origin
	for _, w := range b.want.TargetGroups {
		if b.groupARN[w.ID] == arn {
			of = originsOf(blameOf(w))
		}
	}
	b.tellUnread(*f, "traffic stays where it is, because the health of the targets is not known", finding.BlocksNothing, of...)
	return true
}

// awaitUnread keeps the members of a stack that is torn down until an answer tells what is left to
// delete.
func (b *builder) awaitUnread(a Address, do Action, f observed.Fault) {
	b.tellUnread(f, "the finalizer stays until everything is deleted", finding.BlocksNothing)
	b.add(Step{
		ID: stepID("await", a), Address: a, Verb: Delete, Do: do, Wait: Wait{For: "an answer from AWS", Again: f.Again},
		Why: "it is not known what there is to delete", Blames: b.members(),
	})
}
