package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/accelerators"
	"github.com/fulcrum-lb/fulcrum/internal/plan/authority"
)

// Make makes the plan of a stack: the steps from the observed to the desired state, and the findings that depend on facts
// from AWS. The load balancer serves requests after each step. A plan with Questions is preliminary: the caller has to
// answer the questions and call Make again.
func Make(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) (plan.Plan, finding.List) {
	if want.ID.Kind.HasAccelerator() {
		return accelerators.Make(want, have, opt, memory)
	}
	replacements := certificateReplacements(want, have, opt, memory)
	have, withdrawn := authority.Revoke(have, replacements)
	want, again := withoutDepartedMembers(want, have, opt)
	r := resolve(want, have, opt, memory)
	diff(r)
	memberMoves{r}.reportDepartures()
	if again > 0 {
		r.RetryWithin(again)
	}
	replaced := r.awaitCertificates(replacements)
	r.Plan.HasRetainedParts = r.hasHeldPart() || replaced
	withdrawn.Prepend(&r.Plan)
	r.Findings.Add(withdrawn.Findings...)
	return r.Plan, r.Findings
}
