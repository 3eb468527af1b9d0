package draft

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// attributeChanges returns the desired attributes that differ from the observed attributes.
func attributeChanges(want, have map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range want {
		if h, ok := have[k]; !ok || !equal.SameAttribute(v, h) {
			out[k] = v
		}
	}
	return out
}

// PlanAttributes plans to set the attributes that differ from the desired attributes. Attributes that are not desired are
// not changed. arn is empty if the plan creates the resource. have are the attributes of an existing resource, nil if they
// were not read yet. If they were not read, PlanAttributes adds a question for them. of are the origins of the desired
// attributes, for findings.
func (d *Draft) PlanAttributes(a plan.Address, arn string, want, have map[string]string, after []plan.StepID, requestedBy []finding.Ref, of ...finding.Origin) {
	if len(want) == 0 {
		return
	}
	if arn != "" && have == nil {
		q := model.AskAttributes{Of: string(a.Kind), ARN: arn}
		if f := d.ReadFault(q); f != nil {
			d.ReportUnavailable(*f, fmt.Sprintf("%s keeps its attributes", a), finding.BlocksNothing, of...)
			return
		}
		d.Ask(q)
		return
	}
	drift := attributeChanges(want, have)
	if len(drift) == 0 {
		return
	}
	d.Add(plan.Step{
		ID: plan.NewStepID("attributes", a), Address: a, Verb: plan.Update, Do: plan.SetAttributes{Resource: a, Values: drift},
		Changes: mapChanges("attributes.", drift, have), Why: "attributes differ", After: after, RequestedBy: requestedBy,
	})
}
