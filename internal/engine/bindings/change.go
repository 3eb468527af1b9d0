package bindings

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// ChangeKind is the kind of a change in AWS.
type ChangeKind int

// The kinds.
const (
	TargetsRegistered   ChangeKind = iota // registered targets in a target group
	TargetsDeregistered                   // deregistered targets of a target group
	RulesAuthorized                       // added rules to a security group
	RulesRevoked                          // removed rules of a security group
)

// Change is one change of AWS that was carried out.
type Change struct {
	Kind ChangeKind
	// Resource is the ARN of the target group, or the ID of the security group.
	Resource string
	// Items are the targets or rules, as text.
	Items []string
}

// noteChange records a change of a resource, unless it has no items.
func (r *Reconciler) noteChange(k ChangeKind, resource string, items []string) {
	if len(items) > 0 {
		r.Recorder.RecordChange(Change{k, resource, items})
	}
}

func targetIdentities(list []*observed.Target) (out []string) {
	for _, t := range list {
		out = append(out, targets.IdentityOf(t))
	}
	return out
}

func endpointIdentities(list []targets.Endpoint) (out []string) {
	for _, e := range list {
		out = append(out, e.Identity())
	}
	return out
}

func ruleTexts(list []model.IngressRule) (out []string) {
	for _, r := range list {
		out = append(out, r.String())
	}
	return out
}
