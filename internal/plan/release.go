package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// releaseAll lets go of members that left, after all of the given steps.
func (b *builder) releaseAll(after []StepID) {
	if len(b.want.Leaving) == 0 {
		return
	}
	var wait Wait
	for _, s := range b.plan.Steps {
		if s.Waits() {
			wait = s.Wait
			break
		}
	}
	all := []StepID{b.joined(&stepChain{steps: after})}
	for _, m := range b.want.Leaving {
		b.release(m, all, wait)
	}
}

// releaseEach lets go of members that left a load balancer that others go on to use, each once
// nothing is left that was made for it. It never waits for what others want there.
func (b *builder) releaseEach() {
	if len(b.want.Leaving) == 0 {
		return
	}
	concerns, holders := b.concerns(), b.holders()
	for _, m := range b.want.Leaving {
		after := slices.Clone(holders)
		var wait Wait
		for _, s := range concerns[m.Ref] {
			after = append(after, s.ID)
			if s.Waits() && wait.For == "" {
				wait = s.Wait
			}
		}
		b.release(m, after, wait)
	}
}

// holdersOf are the steps after which one of several members carries the finalizer: none if one does.
func (b *builder) holdersOf(members []finding.Ref) []StepID {
	claims := b.claimsOf(members...)
	if len(claims) < len(members) {
		return nil
	}
	return claims
}

// holders are the steps after which a member that stays carries the finalizer: none if one does so.
func (b *builder) holders() []StepID {
	for _, m := range b.want.Members {
		if m.Claimed && !m.Deleting {
			return nil
		}
	}
	return b.claims()
}

func (b *builder) release(m model.Member, after []StepID, wait Wait) {
	a := Address{Kind: Finalizer, ID: m.Ref.String()}
	why := "nothing is left that was made for it"
	if !b.want.Empty() {
		why = "it does not belong to this load balancer any more"
	}
	b.add(Step{
		ID: stepID("release", a), Address: a, Verb: Delete,
		Do:  ReleaseFinalizer{Ref: m.Ref, Finalizer: m.Finalizer, ClearStatus: !m.Deleting},
		Why: why, After: after, Wait: wait, Blames: []finding.Ref{m.Ref},
	})
}

// concerns are, for each member that leaves, the steps that remove what was made for it, as far as
// they do not wait for what others want.
func (b *builder) concerns() map[finding.Ref][]Step {
	out := map[finding.Ref][]Step{}
	var anybodys []Step
	foreign := map[StepID]bool{}
	for _, s := range b.plan.Steps {
		if s.Waits() && Reroutes(s.Do) || slices.ContainsFunc(s.After, func(id StepID) bool { return foreign[id] }) {
			foreign[s.ID] = true
			continue
		}
		of, ok := b.removes(s)
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
	for _, m := range b.want.Leaving {
		out[m.Ref] = append(out[m.Ref], anybodys...)
	}
	return out
}

// removes returns to whom what a step removes belongs, nil if it may be anybody's. It reports false
// for steps that remove nothing that is made for one member.
func (b *builder) removes(s Step) (of []finding.Ref, ok bool) {
	switch do := s.Do.(type) {
	case DeleteRule:
		return b.ruleOwners[do.ARN], true
	case DeleteListener:
		return nil, true
	case DeleteTargetGroup:
		return b.groupOwners(do.ARN), true
	case DeleteBinding:
		for _, h := range b.have.Bindings {
			if h.Namespace == do.Namespace && h.Name == do.Name {
				return b.groupOwners(h.ARN), true
			}
		}
		return nil, true
	case DeleteCertificate:
		return b.certificateOf(do.ARN), true
	case DeleteRecord:
		return b.certificateOf(do.Certificate), true
	case ModifyListener:
		// The default action was somebody's.
		for _, l := range b.listeners {
			if l.live != nil && s.Address == l.address() {
				if f := forwardOf(l.live.Default); f != nil {
					return b.ownersOf(l.live.Default), true
				}
			}
		}
	}
	return nil, false
}

// freed notes a step after which nothing forwards any more to the target groups of live actions, as
// far as it is about them.
func (b *builder) freed(actions []model.Action, by StepID) {
	f := forwardOf(actions)
	if f == nil {
		return
	}
	for _, g := range f.Groups {
		if arn := g.Group.ARN; arn != "" && !slices.Contains(b.freedBy[arn], by) {
			b.freedBy[arn] = append(b.freedBy[arn], by)
		}
	}
}

func (b *builder) freedListener(l observed.Listener, by StepID) {
	b.freed(l.Default, by)
	for _, r := range l.Rules {
		b.freed(r.Actions, by)
	}
}

// groupOwners are the members of the stack that a live target group was made for, nil if it does not
// tell.
func (b *builder) groupOwners(arn string) []finding.Ref {
	if b.owners == nil {
		b.owners = map[string][]finding.Ref{}
		members := map[string]finding.Ref{}
		for _, m := range append(slices.Clone(b.want.Members), b.want.Leaving...) {
			members[m.Ref.Namespace+"/"+m.Ref.Name] = m.Ref
		}
		for _, g := range b.have.TargetGroups {
			b.owners[g.ARN] = ownersByID(g.ResourceID, members)
		}
		for _, w := range b.want.TargetGroups {
			if live := b.groupARN[w.ID]; live != "" {
				b.owners[live] = append(b.owners[live], w.Members...)
			}
		}
	}
	return b.owners[arn]
}

// ownersByID are the members whose names a target group's id may begin with.
func ownersByID(id string, members map[string]finding.Ref) (out []finding.Ref) {
	for i := range len(id) {
		if m, ok := members[id[:i]]; ok && id[i] == '-' {
			out = append(out, m)
		}
	}
	return out
}

// certificateOf are the members that a managed certificate was requested for.
func (b *builder) certificateOf(arn string) (out []finding.Ref) {
	for _, c := range b.have.Facts.OwnCertificates {
		if c.ARN != arn {
			continue
		}
		for _, m := range append(slices.Clone(b.want.Members), b.want.Leaving...) {
			if _, mark, _ := strings.Cut(naming.CertificateID("", m.Ref, ""), "/"); strings.HasSuffix(c.ResourceID, mark) {
				out = append(out, m.Ref)
			}
		}
	}
	return out
}
