package draft

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// What AWS denies to be read, or fails to answer, is not known, and is never written: the part of
// the load balancer that depends on it is held, and whoever asks for that part gets the finding.
// Everything else goes on.

// Unavailable returns why a question has no answer, nil if it has one or is still to be asked. The plan
// is made again when the question is.
func (d *Draft) Unavailable(q model.Question) *observed.Fault {
	f := d.Have.Facts.Fault(q)
	if f != nil {
		d.PlanAgain(f.Again)
	}
	return f
}

// ReportUnavailable reports what happens for want of an answer to those who need it.
func (d *Draft) ReportUnavailable(f observed.Fault, now string, reach finding.Reach, of ...finding.Origin) {
	if f.Message == "" {
		return // it only waits for its turn
	}
	if of = slices.Clone(of); len(of) == 0 {
		of = OriginsOf(d.Members()[:min(len(d.Members()), 1)])
	}
	for _, o := range of {
		d.Found.Add(finding.Finding{
			Object: d.Blameable(o.Object), Field: o.Field, Reason: f.Reason, Severity: finding.Error,
			Message: f.Message + "; " + now, Fix: FixOf(f), Blocks: reach,
		})
	}
}

// FixOf returns what to do about a fault.
func FixOf(f observed.Fault) string {
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

// OriginsOf returns members as the origins of what they ask for.
func OriginsOf(members []finding.Ref) []finding.Origin {
	var out []finding.Origin
	for _, m := range members {
		out = append(out, finding.Origin{Object: m})
	}
	return out
}

// AwaitUnavailable keeps the members of a stack that is torn down until an answer says what is left to
// delete.
func (d *Draft) AwaitUnavailable(a plan.Address, do plan.Action, f observed.Fault) {
	d.ReportUnavailable(f, "the finalizer stays until everything is deleted", finding.BlocksNothing)
	d.Add(plan.Step{
		ID: plan.NewStepID("await", a), Address: a, Verb: plan.Delete, Do: do, Wait: plan.Wait{For: "an answer from AWS", RetryAfter: f.Again},
		Why: "it is not known what there is to delete", Blames: d.Members(),
	})
}
