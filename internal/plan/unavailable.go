package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// What AWS denies to be read, or fails to answer, is not known, and is never written: the part of
// the load balancer that depends on it is held, and whoever asks for that part gets the finding.
// Everything else goes on.

// unavailable returns why a question has no answer, nil if it has one or is still to be asked. The plan
// is made again when the question is.
func (d *draft) unavailable(q model.Question) *observed.Fault {
	f := d.have.Facts.Fault(q)
	if f != nil {
		d.again(f.Again)
	}
	return f
}

// reportUnavailable reports what happens for want of an answer to those who need it.
func (d *draft) reportUnavailable(f observed.Fault, now string, reach finding.Reach, of ...finding.Origin) {
	if f.Message == "" {
		return // it only waits for its turn
	}
	if of = slices.Clone(of); len(of) == 0 {
		of = originsOf(d.members()[:min(len(d.members()), 1)])
	}
	for _, o := range of {
		d.found.Add(finding.Finding{
			Object: d.blameable(o.Object), Field: o.Field, Reason: f.Reason, Severity: finding.Error,
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

// unavailableHealth reports whether the health of a target group cannot be read. What waits for its
// targets goes on to wait, as if they were not healthy yet.
func (t *traffic) unavailableHealth(arn string) bool {
	f := t.unavailable(model.AskHealth{ARN: arn})
	if f == nil {
		return false
	}
	var of []finding.Origin
	for _, w := range t.want.TargetGroups {
		if t.groupARN[w.ID] == arn {
			of = originsOf(w.Members)
		}
	}
	t.reportUnavailable(*f, "traffic stays where it is, because the health of the targets is not known", finding.BlocksNothing, of...)
	return true
}

// awaitUnavailable keeps the members of a stack that is torn down until an answer says what is left to
// delete.
func (d *draft) awaitUnavailable(a Address, do Action, f observed.Fault) {
	d.reportUnavailable(f, "the finalizer stays until everything is deleted", finding.BlocksNothing)
	d.add(Step{
		ID: stepID("await", a), Address: a, Verb: Delete, Do: do, Wait: Wait{For: "an answer from AWS", Again: f.Again},
		Why: "it is not known what there is to delete", Blames: d.members(),
	})
}
