package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// Describe returns a document of the desired state with the subnets, security groups, certificates and web ACLs that a plan
// would choose. It returns nil if facts are missing. It also returns nil if the plan would create nothing, because the whole
// stack is held or a choice cannot be made. The document of an empty stack or of an accelerator has no resources.
//
// Held parts appear in the document as they stay in AWS. A held rule has its existing conditions and actions, or those of
// its placeholder. A held listener or network load balancer has its existing settings without attributes, which are not
// read. Security group rules that are retained are included. Target groups that only held rules use are identified by ARN.
// The document omits listeners that cannot be created. It also omits web ACLs, networking rules of bindings and tags that
// are retained because the desired state of a member is not known. A certificate that is not issued yet is treated as
// issued.
func Describe(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *document.Document {
	doc := &document.Document{ID: want.ID.String(), Resources: map[document.ResourceType]map[string]any{}}
	switch {
	case want.Held.AllResources:
		return nil
	case want.IsEmpty(), want.Accelerator != nil:
		return doc
	}
	r := newResolution(want, have, opt, memory)
	issued := r.certificates.AssumeIssued()
	r.makeOpenChoices()
	if r.Want.Held.Creation || len(r.Plan.Questions) > 0 {
		return nil
	}
	d := document.Describer{
		Draft: r.Draft, TargetGroups: r.targets, LB: &r.lb, Frontend: &r.frontend,
		SecurityGroups: r.securityGroups, WebACL: r.addOns.WebACL, IssuedCertificates: issued, Doc: doc,
	}
	d.Describe()
	return doc
}
