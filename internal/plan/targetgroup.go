package plan

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// groupPlanner decides which live target groups serve the desired ones, and makes these with their bindings.
type groupPlanner struct {
	*lookups
	*targetGroups
	*finalizers
	albs         *attachments
	lb, frontend *loadBalancerPlan
}

// planTargetGroups makes target groups and their bindings, so that targets are on their way
// before traffic is. It returns the last step for each group.
func (gp *groupPlanner) planTargetGroups(lb, groups []StepID) map[string][]StepID {
	done := map[string][]StepID{}
	for _, w := range gp.want.TargetGroups {
		if w.Type == model.ALBTargets && w.LoadBalancer == "" {
			continue // made with what leads to it
		}
		if !gp.makes(w) {
			continue
		}
		ready := gp.planTargetGroup(w, lb, groups)
		if w.LoadBalancer != "" {
			if id := gp.albs.attach(w, gp.groupARN[w.ID], ready); id != "" {
				ready = append(ready, id)
			}
		}
		done[w.ID] = ready
	}
	return done
}

// makes reports whether the plan brings a group about: not if only held rules would use it.
func (gp *groupPlanner) makes(w model.TargetGroup) bool { return gp.used(w) || gp.groupARN[w.ID] != "" }

// used reports whether something forwards to the group that is not held, or the group stands for
// itself: a rule that was dropped because another covers it may have asked for it.
func (gp *groupPlanner) used(w model.TargetGroup) bool {
	if gp.forwarded == nil {
		gp.noteForwards(gp.lb.listeners)
	}
	if gp.forwarded[w.ID] || gp.heldOnly[w.ID] {
		return gp.forwarded[w.ID]
	}
	return slices.ContainsFunc(w.Members, func(m finding.Ref) bool { return !gp.blocked(m) })
}

// blocked reports whether everything that a member contributes is held.
func (k *lookups) blocked(m finding.Ref) bool { return k.blockedMembers[m] }

func (gp *groupPlanner) planTargetGroup(w model.TargetGroup, lb, groups []StepID) []StepID {
	a := GroupAddress(w.ID)
	tags := gp.tags(w.ID, w.Tags)
	live, exists := gp.liveGroups[gp.groupARN[w.ID]]
	var last []StepID
	if !exists {
		made := w
		made.Name = gp.freeGroupName(w.Name)
		id := gp.add(Step{
			ID: stepID("create", a), Address: a, Verb: Create, Do: CreateTargetGroup{Group: made, Tags: tags}, Impact: gp.groupImpact(w),
			Why: gp.groupReason(w), After: append(slices.Clone(lb), gp.claimsOf(w.Members...)...), Blames: w.Members,
		})
		last = []StepID{id}
		gp.planAttributes(a, "", w.Attributes, nil, false, last, w.Members)
	} else {
		gp.retag(a, tags, live.Tags, true, lb, w.Members)
		if changes := healthCheckDrift(w.HealthCheck, live.HealthCheck); len(changes) > 0 {
			gp.add(Step{
				ID: stepID("health-check", a), Address: a, Verb: Update, Do: SetHealthCheck{Group: a, Check: w.HealthCheck},
				Changes: changes, Why: "the health check differs", After: lb, Blames: w.Members,
			})
		}
		gp.planAttributes(a, live.ARN, w.Attributes, live.Attributes, true, lb, w.Members, originsOf(w.Members)...)
	}
	gp.planBinding(w, append(slices.Clone(groups), last...))
	return last
}

// groupImpact is that a target group of a load balancer to come takes the place of one that serves.
func (gp *groupPlanner) groupImpact(w model.TargetGroup) Impact {
	if w.Type != model.ALBTargets && gp.lb.serving(gp.have) != nil && len(gp.liveByID[w.ID]) > 0 {
		return ReplaceImpact
	}
	return NoImpact
}

func (gp *groupPlanner) groupReason(w model.TargetGroup) string {
	if old := gp.lb.serving(gp.have); old != nil && len(gp.liveByID[w.ID]) > 0 {
		return "a target group serves one load balancer only, and " + gp.liveByID[w.ID][0].Name + " serves " + old.Name
	}
	for _, h := range gp.liveByID[w.ID] {
		if _, kept := gp.liveGroups[h.ARN]; !kept {
			return "it takes the place of " + h.Name + ", whose type or protocol cannot be changed"
		}
	}
	return "a rule forwards to it, " + w.Origin.String()
}

// matchGroups decides which live target groups the desired state keeps. They are known by their ids, and by
// their names before that: ids can be spelled alike, so that the one that has an id today may not be
// the one that had it yesterday, while a name holds all that a group is made of. A name that no
// desired target group has says nothing.
func (gp *groupPlanner) matchGroups() {
	names := map[string]bool{}
	for _, w := range gp.want.TargetGroups {
		names[w.Name] = true
	}
	// Of several with one id the one that is used stays in use.
	live, kept := gp.matchable()
	slices.SortStableFunc(live, func(x, y observed.TargetGroup) int {
		return cmp.Or(cmp.Compare(kept[y.ARN], kept[x.ARN]), cmp.Compare(min(len(y.LoadBalancers), 1), min(len(x.LoadBalancers), 1)))
	})
	byName, byID := map[string][]observed.TargetGroup{}, map[string][]observed.TargetGroup{}
	for _, h := range live {
		byName[h.Name] = append(byName[h.Name], h)
		byID[h.ResourceID] = append(byID[h.ResourceID], h)
	}
	pass := func(candidates func(w model.TargetGroup) []observed.TargetGroup, fits func(w model.TargetGroup, h observed.TargetGroup) bool) {
		for _, w := range gp.want.TargetGroups {
			for _, h := range candidates(w) {
				_, taken := gp.liveGroups[h.ARN]
				if gp.groupARN[w.ID] == "" && !taken && fits(w, h) && gp.same(w, h) && gp.albs.sameALBGroup(w, h) {
					gp.groupARN[w.ID] = h.ARN
					gp.liveGroups[h.ARN] = h
					gp.known[GroupAddress(w.ID)] = h.ARN
				}
			}
		}
	}
	sameName := func(w model.TargetGroup) (out []observed.TargetGroup) {
		for n := 1; n <= naming.Alternatives; n++ {
			out = append(out, byName[naming.Alternative(w.Name, n)]...)
		}
		slices.SortStableFunc(out, func(x, y observed.TargetGroup) int { return cmp.Compare(kept[y.ARN], kept[x.ARN]) })
		return out
	}
	sameID := func(w model.TargetGroup) []observed.TargetGroup { return byID[w.ID] }
	pass(sameName, func(w model.TargetGroup, h observed.TargetGroup) bool { return h.ResourceID == w.ID })
	pass(sameName, func(model.TargetGroup, observed.TargetGroup) bool { return true })
	pass(sameID, func(w model.TargetGroup, h observed.TargetGroup) bool { return !names[h.Name] && !gp.servesOther(w, h) })
}

// same reports whether a live target group can become the desired one.
func (gp *groupPlanner) same(w model.TargetGroup, h observed.TargetGroup) bool {
	return sameGroup(w, h) && (!gp.opt.ReplaceForHealthChecks || sameFixedChecks(w, h))
}

// matchable are the live target groups that a desired one may be, and of which the load balancers that are kept
// forward to (1). Those of another load balancer stay with that.
func (gp *groupPlanner) matchable() (live []observed.TargetGroup, kept map[string]int) {
	kept = map[string]int{}
	others := map[string]bool{}
	for i := range gp.have.LoadBalancers {
		lb := &gp.have.LoadBalancers[i]
		mine := gp.lb
		if lb.ResourceID == model.FrontendNLBID {
			mine = gp.frontend
		}
		switch {
		case mine.live != nil && mine.live.ARN == lb.ARN:
			eachForward(lb.Listeners, func(arn string) { kept[arn] = 1 })
		case gp.opt.CreateFirst && !gp.want.Empty() && (mine.live != nil || len(mine.predecessors) > 0):
			eachForward(lb.Listeners, func(arn string) { others[arn] = true })
		}
	}
	live = slices.DeleteFunc(slices.Clone(gp.have.TargetGroups), func(g observed.TargetGroup) bool { return others[g.ARN] && kept[g.ARN] == 0 })
	return live, kept
}

// freeGroupName is the name for a new target group: while another is there that it takes the place of, or
// that serves another load balancer, it gets a name of its own.
func (gp *groupPlanner) freeGroupName(name string) string {
	return firstFree(name, func(name string) bool { return gp.groupNames[name] })
}

// servesOther reports whether a live target group holds the targets of another Service than the desired
// one. Rules may still lead to it, so that it cannot be given to another. One that no binding
// fills and no load balancer uses is on its way out, and may have been another's.
func (gp *groupPlanner) servesOther(w model.TargetGroup, h observed.TargetGroup) bool {
	if w.Binding == nil {
		return false
	}
	of := gp.bindingsOf[h.ARN]
	if len(of) == 0 {
		return len(h.LoadBalancers) == 0
	}
	return slices.ContainsFunc(of, func(o *observed.Binding) bool {
		return o.Namespace != w.Binding.Namespace || o.Service.Service != w.Binding.Service
	})
}

// planBinding makes the TargetGroupBinding of a group fit.
func (gp *groupPlanner) planBinding(w model.TargetGroup, after []StepID) {
	if w.Binding == nil {
		return
	}
	a := Address{Kind: Binding, ID: w.ID}
	arn := gp.groupARN[w.ID]
	var live *observed.Binding
	for _, h := range gp.bindingsOf[arn] {
		// Labels say whose a binding is, and anybody may write them on a binding of another namespace.
		if arn != "" && h.Namespace == w.Binding.Namespace {
			live = h
		}
	}
	put := PutBinding{
		Binding: *w.Binding, Group: GroupAddress(w.ID), Type: w.Type, Protocol: w.Protocol, Address: w.AddressType,
		VPC: gp.opt.VPC, Labels: bindingLabels(gp.want.ID, w.Binding.Labels),
		BackendGroup: backendGroupAddress, ManagedGroup: managedGroupAddress,
	}
	rules, known := gp.networking(w)
	if !known && live == nil {
		return // it is made with its rules
	}
	put.Binding.Networking = rules
	put.KeepNetworking = gp.want.Held.SecurityGroups || !known
	verb, why := Create, "targets have to be registered"
	if live == nil {
		put.Binding.Name = gp.bindingName(w)
	} else {
		if live.Deleting || gp.sameBinding(put, *live) {
			return
		}
		put.Existing = &model.Binding{Namespace: live.Namespace, Name: live.Name}
		verb, why = Update, "the binding differs"
	}
	gp.add(Step{
		ID: stepID("bind", a), Address: a, Verb: verb, Do: put, Why: why, After: after, Blames: w.Members,
	})
}

// bindingLabels are those of the stack over others.
func bindingLabels(id model.StackID, others map[string]string) map[string]string {
	out := naming.StackLabels(id)
	for k, v := range others {
		if _, own := out[k]; !own {
			out[k] = v
		}
	}
	return out
}

// bindingName is the name of a new binding: that of its target group, where this has another than the desired
// one because a previous load balancer has that.
func (gp *groupPlanner) bindingName(w model.TargetGroup) string {
	name := w.Name
	if live, ok := gp.liveGroups[gp.groupARN[w.ID]]; ok {
		name = live.Name
	} else {
		name = gp.freeGroupName(name)
	}
	if w.Binding.Name == w.Name && naming.IsAlternative(name, w.Name) {
		return name
	}
	return w.Binding.Name
}

// sameBinding compares what the controller owns of a binding.
func (gp *groupPlanner) sameBinding(w PutBinding, h observed.Binding) bool {
	for k, v := range w.Labels {
		if h.Labels[k] != v {
			return false
		}
	}
	for k, v := range w.Binding.Annotations {
		if h.Annotations[k] != v {
			return false
		}
	}
	if w.Type != h.Type || w.Protocol != h.Protocol || w.Address != h.AddressType || w.VPC != h.VPC ||
		w.Binding.Service != h.Service.Service || w.Binding.Port != h.Service.Port ||
		w.Binding.MultiCluster != h.Service.MultiCluster || !sameSelector(w.Binding.NodeSelector, h.Service.NodeSelector) {
		return false
	}
	if w.KeepNetworking {
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
				groups = append(groups, gp.known[backendGroupAddress])
			case p.ManagedGroup:
				groups = append(groups, gp.known[managedGroupAddress])
			default:
				cidrs = append(cidrs, p.CIDR)
			}
		}
		return slices.Equal(groups, y.Groups) && sameSet(cidrs, y.CIDRs) &&
			slices.EqualFunc(x.Ports, y.Ports, func(p, q model.PeerPort) bool {
				return p.Protocol == q.Protocol && (p.Port == nil) == (q.Port == nil) && (p.Port == nil || *p.Port == *q.Port)
			})
	})
}
