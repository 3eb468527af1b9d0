package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// planTargetGroups makes target groups and their bindings, so that targets are on their way
// before traffic is. It returns the last step for each group.
func (b *builder) planTargetGroups(lb, groups []StepID) map[string][]StepID {
	done := map[string][]StepID{}
	for _, w := range b.want.TargetGroups {
		if w.Type == model.ALBTargets {
			continue // made with what leads to it
		}
		if !b.makes(w) {
			continue
		}
		done[w.ID] = b.planTargetGroup(w, lb, groups)
	}
	return done
}

// makes says whether the plan brings a group about: not if only held rules would use it.
func (b *builder) makes(w model.TargetGroup) bool { return b.used(w) || b.groupARN[w.ID] != "" }

// used says whether something forwards to the group that is not held, or the group stands for
// itself: a rule that was dropped because another covers it may have asked for it.
func (b *builder) used(w model.TargetGroup) bool {
	uses := func(as []model.Action) bool {
		return slices.ContainsFunc(as, func(a model.Action) bool {
			f, ok := a.(model.Forward)
			return ok && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Group.ID == w.ID })
		})
	}
	heldOnly := false
	for _, l := range b.listeners {
		if uses(l.defaults) {
			return true
		}
		for _, r := range l.rules {
			if uses(r.wish.Actions) {
				return true
			}
			heldOnly = heldOnly || r.held && uses(r.wished)
		}
		heldOnly = heldOnly || slices.ContainsFunc(l.leftOut, func(r rulePlan) bool { return uses(r.wished) })
	}
	return !heldOnly && slices.ContainsFunc(w.Members, func(m finding.Ref) bool { return !b.blocked(m) })
}

// blocked says whether everything that a member contributes is held.
func (b *builder) blocked(m finding.Ref) bool {
	return slices.ContainsFunc(b.want.Members, func(x model.Member) bool { return x.Ref == m && x.Blocked })
}

func (b *builder) planTargetGroup(w model.TargetGroup, lb, groups []StepID) []StepID {
	a := GroupAddress(w.ID)
	tags := b.tags(w.ID, w.Tags)
	live, exists := b.liveGroups[b.groupARN[w.ID]]
	var last []StepID
	if !exists {
		id := b.add(Step{
			ID: stepID("create", a), Address: a, Verb: Create, Do: CreateTargetGroup{Group: w, Tags: tags},
			Why: b.groupReason(w), After: lb, Blames: blameOf(w),
		})
		last = []StepID{id}
		b.planAttributes(a, "", w.Attributes, nil, false, last, blameOf(w))
	} else {
		b.retag(a, tags, live.Tags, true, lb, blameOf(w))
		if changes := healthCheckDrift(w.HealthCheck, live.HealthCheck); len(changes) > 0 {
			b.add(Step{
				ID: stepID("health-check", a), Address: a, Verb: Update, Do: SetHealthCheck{Group: a, Check: w.HealthCheck},
				Changes: changes, Why: "the health check differs", After: lb, Blames: blameOf(w),
			})
		}
		b.planAttributes(a, live.ARN, w.Attributes, live.Attributes, true, lb, blameOf(w), originsOf(blameOf(w))...)
	}
	b.planBinding(w, append(slices.Clone(groups), last...))
	return last
}

// blameOf is whom a target group's troubles are reported to.
func blameOf(w model.TargetGroup) []finding.Ref { return w.Members }

func (b *builder) groupReason(w model.TargetGroup) string {
	for _, h := range b.have.TargetGroups {
		if _, kept := b.liveGroups[h.ARN]; h.ResourceID == w.ID && !kept {
			return "it takes the place of " + h.Name + ", whose type or protocol cannot be changed"
		}
	}
	return "a rule forwards to it, " + w.Origin.String()
}

// matchGroups decides which live target groups the wish keeps. They are known by their ids, and by
// their names before that: ids can be spelled alike, so that the one that has an id today may not be
// the one that had it yesterday, while a name holds all that a group is made of. A name that nobody
// wishes for says nothing.
func (b *builder) matchGroups() {
	b.liveGroups = map[string]observed.TargetGroup{}
	names := map[string]bool{}
	for _, w := range b.want.TargetGroups {
		names[w.Name] = true
	}
	// Of several with one id the one that is used stays in use.
	live := slices.Clone(b.have.TargetGroups)
	slices.SortStableFunc(live, func(x, y observed.TargetGroup) int {
		return cmp.Compare(min(len(y.LoadBalancers), 1), min(len(x.LoadBalancers), 1))
	})
	for _, fits := range []func(w model.TargetGroup, h observed.TargetGroup) bool{
		func(w model.TargetGroup, h observed.TargetGroup) bool {
			return h.Name == w.Name && h.ResourceID == w.ID
		},
		func(w model.TargetGroup, h observed.TargetGroup) bool { return h.Name == w.Name },
		func(w model.TargetGroup, h observed.TargetGroup) bool {
			return h.ResourceID == w.ID && !names[h.Name] && !b.servesOther(w, h)
		},
	} {
		for _, w := range b.want.TargetGroups {
			for _, h := range live {
				_, taken := b.liveGroups[h.ARN]
				if b.groupARN[w.ID] == "" && !taken && fits(w, h) && sameGroup(w, h) && b.sameALBGroup(w, h) {
					b.groupARN[w.ID] = h.ARN
					b.liveGroups[h.ARN] = h
					b.known[GroupAddress(w.ID)] = h.ARN
				}
			}
		}
	}
}

// servesOther says whether a live target group holds the targets of another Service than the wished
// one. Rules may still lead to it, so that it cannot be given to somebody else.
func (b *builder) servesOther(w model.TargetGroup, h observed.TargetGroup) bool {
	return w.Binding != nil && slices.ContainsFunc(b.have.Bindings, func(o observed.Binding) bool {
		return o.ARN == h.ARN && (o.Namespace != w.Binding.Namespace || o.Service.Service != w.Binding.Service)
	})
}

// planBinding makes the TargetGroupBinding of a group fit.
func (b *builder) planBinding(w model.TargetGroup, after []StepID) {
	if w.Binding == nil {
		return
	}
	a := Address{Kind: Binding, ID: w.ID}
	arn := b.groupARN[w.ID]
	var live *observed.Binding
	for i := range b.have.Bindings {
		// Labels say whose a binding is, and anybody may write them on a binding of another namespace.
		if h := &b.have.Bindings[i]; arn != "" && h.ARN == arn && h.Namespace == w.Binding.Namespace {
			live = h
		}
	}
	put := PutBinding{
		Binding: *w.Binding, Group: GroupAddress(w.ID), Type: w.Type, Protocol: w.Protocol, Address: w.AddressType,
		VPC: b.opt.VPC, Labels: naming.StackLabels(b.want.ID),
		BackendGroup: backendGroupAddress, ManagedGroup: managedGroupAddress,
	}
	verb, why := Create, "targets have to be registered"
	if live != nil {
		if live.Deleting || b.sameBinding(put, *live) {
			return
		}
		put.Existing = &model.Binding{Namespace: live.Namespace, Name: live.Name}
		put.KeepNetworking = b.groupsUnsure
		verb, why = Update, "the binding differs"
	}
	b.add(Step{
		ID: stepID("bind", a), Address: a, Verb: verb, Do: put, Why: why, After: after, Blames: blameOf(w),
	})
}

// sameBinding compares what the controller owns of a binding.
func (b *builder) sameBinding(w PutBinding, h observed.Binding) bool {
	for k, v := range w.Labels {
		if h.Labels[k] != v {
			return false
		}
	}
	if w.Type != h.Type || w.Protocol != h.Protocol || w.Address != h.AddressType || w.VPC != h.VPC ||
		w.Binding.Service != h.Service.Service || w.Binding.Port != h.Service.Port ||
		w.Binding.MultiCluster != h.Service.MultiCluster || !sameSelector(w.Binding.NodeSelector, h.Service.NodeSelector) {
		return false
	}
	if b.groupsUnsure {
		return true
	}
	if w.Binding.Managed != h.HasNetworking {
		return false
	}
	return slices.EqualFunc(w.Binding.Networking, h.Networking, func(x model.BindingRule, y observed.BindingRule) bool {
		var groups, cidrs []string
		for _, p := range x.From {
			switch {
			case p.BackendGroup:
				groups = append(groups, b.known[backendGroupAddress])
			case p.ManagedGroup:
				groups = append(groups, b.known[managedGroupAddress])
			default:
				cidrs = append(cidrs, p.CIDR)
			}
		}
		return slices.Equal(groups, y.Groups) && slices.Equal(cidrs, y.CIDRs) &&
			slices.EqualFunc(x.Ports, y.Ports, func(p, q model.PeerPort) bool {
				return p.Protocol == q.Protocol && (p.Port == nil) == (q.Port == nil) && (p.Port == nil || *p.Port == *q.Port)
			})
	})
}

// removeSurplusGroups deletes bindings and target groups that nothing uses any more: the binding
// first, whose own finalizer takes the targets out, then, when these have drained, the group.
func (b *builder) removeSurplusGroups(after []StepID) {
	keep := map[string]bool{}
	for _, arn := range b.groupARN {
		keep[arn] = true
	}
	for _, g := range b.have.TargetGroups {
		if keep[g.ARN] || b.kept[g.ARN] {
			continue
		}
		if g.Type == model.ALBTargets {
			b.removeALBGroup(g, after)
			continue
		}
		b.deleteTargetGroup(g, after, len(b.have.LoadBalancers) > 0 && !b.want.Empty())
	}
	// Bindings of target groups that are gone.
	for _, h := range b.have.Bindings {
		if !h.Deleting && !slices.ContainsFunc(b.have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == h.ARN }) {
			b.unbind(h, "its target group is gone", after)
		}
	}
}

func (b *builder) unbind(h observed.Binding, why string, after []StepID) StepID {
	a := Address{Kind: Binding, ID: h.Namespace + "/" + h.Name}
	return b.add(Step{
		ID: stepID("unbind", a), Address: a, Verb: Delete, Do: DeleteBinding{Namespace: h.Namespace, Name: h.Name},
		Why: why, After: after, Blames: b.members(),
	})
}

// settling is what the end of a target group waits for: a node that does not know yet that
// nothing forwards to the group would have no target for the requests it sends there.
const settling = "the nodes of the load balancer to know that nothing forwards there"

// unsettled is for how long nodes of the load balancer may still use what the listeners and rules
// do not use any more, once the steps are carried out.
func (b *builder) unsettled(steps []StepID) time.Duration {
	for _, s := range b.plan.Steps {
		if Reroutes(s.Do) && slices.Contains(steps, s.ID) {
			return b.opt.Propagation
		}
	}
	return b.opt.Unsettled
}

func (b *builder) deleteTargetGroup(g observed.TargetGroup, after []StepID, drain bool) {
	a := Address{Kind: TargetGroup, ID: g.ARN}
	s := Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteTargetGroup{ARN: g.ARN},
		Changes: []Change{{Path: "name", From: g.Name}},
		Why:     "nothing forwards to it any more", After: slices.Clone(after), Impact: DeleteImpact, Blames: b.members(),
	}
	for _, h := range b.have.Bindings {
		if h.ARN != g.ARN {
			continue
		}
		if !h.Deleting {
			s.After = append(s.After, b.unbind(h, "its target group is not used any more", after))
			if unbind := &b.plan.Steps[len(b.plan.Steps)-1]; drain && b.unsettled(after) > 0 {
				unbind.Wait, unbind.Again = settling, b.unsettled(after)
			}
		}
		s.Wait = "binding " + h.Namespace + "/" + h.Name + " to let go of its targets"
	}
	if d := b.unsettled(after); drain && d > 0 && s.Wait == "" {
		s.Wait, s.Again = settling, d
	}
	if drain && s.Wait == "" {
		health, asked := b.have.Facts.Health[g.ARN]
		switch f := b.unread(model.AskHealth{ARN: g.ARN}); {
		case f != nil:
			s.Wait, s.Again = "the state of its targets", f.Again
			b.tellUnread(*f, "target group "+g.Name+" is not deleted yet", finding.BlocksNothing)
		case !asked:
			b.ask(model.AskHealth{ARN: g.ARN})
			s.Wait = "the state of its targets"
		case health.Count("draining") > 0:
			s.Wait = describe(health.Count("draining"), "target") + " to drain"
		}
	}
	b.add(s)
}
