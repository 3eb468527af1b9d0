package draft

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// If AWS denies a read or does not answer it, the fact is unavailable. Settings of the load balancer that depend on the fact
// are held, and the member that requests them gets a finding. All other changes are planned as usual.

// ReadFault returns the reason why the answer to a question could not be read; nil if the answer was read, or if the
// question was not asked yet. If the read failed, it also requests that the plan is made again when the read is retried.
func (d *Draft) ReadFault(q model.Question) *observed.Fault {
	f := d.Have.Facts.Fault(q)
	if f != nil {
		d.RetryWithin(f.RetryAfter)
	}
	return f
}

// ReportUnavailable adds a finding about an unavailable fact and its effect (now) for each origin in of, or for the first
// member if of is empty. It adds none if the rate limiter has postponed the read.
func (d *Draft) ReportUnavailable(f observed.Fault, now string, reach finding.Reach, of ...finding.Origin) {
	if f.Message == "" {
		return
	}
	if of = slices.Clone(of); len(of) == 0 {
		of = MemberOrigins(d.Members()[:min(len(d.Members()), 1)])
	}
	for _, o := range of {
		d.Findings.Add(finding.Finding{
			Object: d.EventObject(o.Object), Field: o.Field, Reason: f.Reason, Severity: finding.Error,
			Message: f.Message + "; " + now, Fix: FaultFix(f), Blocks: reach,
		})
	}
}

// FaultFix returns the fix of a finding about an unavailable fact.
func FaultFix(f observed.Fault) string {
	switch f.Reason {
	case finding.AccessDenied:
		if f.Action == "" {
			return "add the permission to the controller's IAM policy"
		}
		return "add " + f.Action + " to the controller's IAM policy"
	case finding.RejectedByAWS:
		return "correct the value in the message of AWS"
	}
	return "the read is retried; if it keeps failing, check the service in the account and region"
}

// MemberOrigins returns the members as origins without a field.
func MemberOrigins(members []finding.Ref) []finding.Origin {
	var out []finding.Origin
	for _, m := range members {
		out = append(out, finding.Origin{Object: m})
	}
	return out
}

// DeleteOnceReadable adds a deletion that waits until the resources to be deleted can be read from AWS. If the stack is torn
// down, its members keep their finalizers until then.
func (d *Draft) DeleteOnceReadable(a plan.Address, do plan.Action, f observed.Fault) {
	d.ReportUnavailable(f, "the finalizer is retained until everything is deleted", finding.BlocksNothing)
	d.Add(plan.Step{
		ID: plan.NewStepID("await", a), Address: a, Verb: plan.Delete, Do: do, Wait: plan.Wait{For: "an answer from AWS", RetryAfter: f.RetryAfter},
		Why: "the resources to delete are not known", RequestedBy: d.Members(),
	})
}
