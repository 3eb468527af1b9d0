package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// release lets go of members that left. It comes after all that is planned for their sake.
type release struct {
	*targetGroups
	*usage
	*finalizers
	listeners []listenerPlan
}

func (b *builder) release() *release {
	return &release{b.targetGroups, b.usage, b.finalizers, b.listeners}
}

// all lets go of members that left, after all of the given steps.
func (r *release) all(after []StepID) {
	if len(r.want.Leaving) == 0 {
		return
	}
	var wait Wait
	for _, s := range r.plan.Steps {
		if s.Waits() {
			wait = s.Wait
			break
		}
	}
	all := []StepID{r.joined(&stepChain{steps: after})}
	for _, m := range r.want.Leaving {
		r.member(m, all, wait)
	}
}

// each lets go of members that left a load balancer that others go on to use, each once
// nothing is left that was made for it. It never waits for what others want there.
func (r *release) each() {
	if len(r.want.Leaving) == 0 {
		return
	}
	concerns, holders := r.concerns(), r.holders()
	for _, m := range r.want.Leaving {
		after := slices.Clone(holders)
		var wait Wait
		for _, s := range concerns[m.Ref] {
			after = append(after, s.ID)
			if s.Waits() && wait.For == "" {
				wait = s.Wait
			}
		}
		r.member(m, after, wait)
	}
}

func (r *release) member(m model.Member, after []StepID, wait Wait) {
	a := Address{Kind: Finalizer, ID: m.Ref.String()}
	why := "nothing is left that was made for it"
	if !r.want.Empty() {
		why = "it does not belong to this load balancer any more"
	}
	r.add(Step{
		ID: stepID("release", a), Address: a, Verb: Delete,
		Do:  ReleaseFinalizer{Ref: m.Ref, Finalizer: m.Finalizer, ClearStatus: !m.Deleting},
		Why: why, After: after, Wait: wait, Blames: []finding.Ref{m.Ref},
	})
}

// concerns are, for each member that leaves, the steps that remove what was made for it, as far as
// they do not wait for what others want.
func (r *release) concerns() map[finding.Ref][]Step {
	out := map[finding.Ref][]Step{}
	var anybodys []Step
	foreign := map[StepID]bool{}
	for _, s := range r.plan.Steps {
		if s.Waits() && Reroutes(s.Do) || slices.ContainsFunc(s.After, func(id StepID) bool { return foreign[id] }) {
			foreign[s.ID] = true
			continue
		}
		of, ok := r.removes(s)
		switch {
		case !ok:
		case of == nil:
			anybodys = append(anybodys, s)
		default:
			for _, m := range of {
				out[m] = append(out[m], s)
			}
		}
	}
	for _, m := range r.want.Leaving {
		out[m.Ref] = append(out[m.Ref], anybodys...)
	}
	return out
}

// removes returns to whom what a step removes belongs, nil if it may be anybody's. It reports false
// for steps that remove nothing that is made for one member.
func (r *release) removes(s Step) (of []finding.Ref, ok bool) {
	switch do := s.Do.(type) {
	case DeleteRule:
		return r.ruleOwners[do.ARN], true
	case DeleteListener:
		return nil, true
	case DeleteTargetGroup:
		return r.groupOwners(do.ARN), true
	case DeleteBinding:
		for _, h := range r.have.Bindings {
			if h.Namespace == do.Namespace && h.Name == do.Name {
				return r.groupOwners(h.ARN), true
			}
		}
		return nil, true
	case DeleteCertificate:
		return r.certificateOf(do.ARN), true
	case DeleteRecord:
		return r.certificateOf(do.Certificate), true
	case ModifyListener:
		// The default action was a member's.
		for _, l := range r.listeners {
			if l.live != nil && s.Address == l.address() {
				if f := forwardOf(l.live.Default); f != nil {
					return r.ownersOf(l.live.Default), true
				}
			}
		}
	}
	return nil, false
}

// certificateOf are the members that a managed certificate was requested for, or that may have named its Secret.
func (r *release) certificateOf(arn string) (out []finding.Ref) {
	for _, c := range r.have.Facts.OwnCertificates {
		if c.ARN != arn {
			continue
		}
		for _, m := range append(slices.Clone(r.want.Members), r.want.Leaving...) {
			_, mark, _ := strings.Cut(naming.CertificateID("", m.Ref, ""), "/")
			if strings.HasSuffix(c.ResourceID, mark) || naming.ImportedFrom(c.ResourceID, m.Ref.Namespace) {
				out = append(out, m.Ref)
			}
		}
	}
	return out
}
