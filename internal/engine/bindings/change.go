package bindings

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// ChangeKind is what was done.
type ChangeKind int

// The kinds.
const (
	Registered   ChangeKind = iota // targets in a target group
	Deregistered                   // targets of a target group
	Authorized                     // rules of a security group
	Revoked                        // rules of a security group
)

// Change is one change of AWS that was carried out.
type Change struct {
	Kind ChangeKind
	// On is the ARN of the target group, or the id of the security group.
	On string
	// Items are the targets or rules, as text.
	Items []string
}

func (r *Reconciler) noteChange(k ChangeKind, on string, items []string) {
	if len(items) > 0 {
		r.Recorder.Changed(Change{k, on, items})
	}
}

func targetNames(list []*observed.Target) (out []string) {
	for _, t := range list {
		out = append(out, targets.IdentityOf(t))
	}
	return out
}

func endpointNames(list []targets.Endpoint) (out []string) {
	for _, e := range list {
		out = append(out, e.Identity())
	}
	return out
}

func ruleNames(list []model.IngressRule) (out []string) {
	for _, r := range list {
		out = append(out, r.String())
	}
	return out
}
