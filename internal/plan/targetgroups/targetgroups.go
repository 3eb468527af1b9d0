package targetgroups

import (
	"slices"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// healthCheckChanges returns the differences between the desired and the existing health check. Fields that are not set in
// the desired health check are not compared.
func healthCheckChanges(want, have model.HealthCheck) []plan.Change {
	var out []plan.Change
	text := func(path, w, h string) {
		if w != "" && w != h {
			out = append(out, plan.Change{Path: path, From: h, To: w})
		}
	}
	number := func(path string, w, h int32) {
		if w != 0 && w != h {
			out = append(out, plan.Change{Path: path, From: strconv.Itoa(int(h)), To: strconv.Itoa(int(w))})
		}
	}
	text("healthCheck.port", want.Port, have.Port)
	text("healthCheck.protocol", want.Protocol, have.Protocol)
	text("healthCheck.path", want.Path, have.Path)
	if want.HTTPCodes != "" || want.GRPCCodes != "" {
		if want.HTTPCodes != have.HTTPCodes || want.GRPCCodes != have.GRPCCodes {
			out = append(out, plan.Change{Path: "healthCheck.matcher", From: have.HTTPCodes + have.GRPCCodes, To: want.HTTPCodes + want.GRPCCodes})
		}
	}
	number("healthCheck.interval", want.IntervalSeconds, have.IntervalSeconds)
	number("healthCheck.timeout", want.TimeoutSeconds, have.TimeoutSeconds)
	number("healthCheck.healthyThreshold", want.HealthyThreshold, have.HealthyThreshold)
	number("healthCheck.unhealthyThreshold", want.UnhealthyThreshold, have.UnhealthyThreshold)
	return out
}

// Planner decides which existing target groups are kept, and plans to create and change target groups and their bindings.
type Planner struct {
	*targetGroupIndexes
	*owners.TargetGroups
	*draft.Finalizers
	ALBTargets   *ALBTargetPlanner
	LB, Frontend *resolved.LoadBalancer
}

// NewPlanner returns the Planner of the target groups of a load balancer and of its frontend NLB.
func NewPlanner(tg *owners.TargetGroups, f *draft.Finalizers, albs *ALBTargetPlanner, lb, frontend *resolved.LoadBalancer) *Planner {
	return &Planner{newTargetGroupIndexes(tg.Draft), tg, f, albs, lb, frontend}
}

// PlanTargetGroups plans the target groups after the steps in lb, and their bindings also after the steps in groups, which
// create security groups. Targets are registered before traffic is sent to them. It returns the steps after which each
// target group can be used, by the ID of the target group.
func (gp *Planner) PlanTargetGroups(lb, groups []plan.StepID) map[string][]plan.StepID {
	done, from, shares := map[string][]plan.StepID{}, len(gp.Draft.Plan.Steps), plan.Shares{}
	for _, w := range gp.Want.TargetGroups {
		if gp.LiveTargetGroupARNs[w.ID] != "" {
			shares.AddRetained(draft.Namespaces(w.Members)...)
		}
		if w.Type == model.ALBTargets && w.LoadBalancer == "" {
			continue // planned with the frontend NLB
		}
		if !gp.IsPlanned(w) {
			continue
		}
		ready := gp.PlanTargetGroup(w, lb, groups)
		if w.LoadBalancer != "" {
			ready = append(ready, gp.ALBTargets.Register(w, gp.LiveTargetGroupARNs[w.ID], w.LoadBalancer, ready, w.Members)...)
		}
		done[w.ID] = ready
	}
	gp.OrderStepsByShare(shares, from, func(step plan.Step) []string {
		if _, creates := step.Do.(plan.CreateTargetGroup); !creates {
			return nil
		}
		return draft.Namespaces(step.RequestedBy)
	})
	return done
}

// IsPlanned reports whether the plan keeps or creates a target group. A target group that only held rules would use is not
// created.
func (gp *Planner) IsPlanned(w model.TargetGroup) bool {
	return gp.isUsed(w) || gp.LiveTargetGroupARNs[w.ID] != ""
}

// isUsed reports whether the target group is needed by a rule that is not held or, if no rule forwards to it, by a member
// that is not held. The member may have a rule for it that was omitted because another rule covers it.
func (gp *Planner) isUsed(w model.TargetGroup) bool {
	if gp.forwardedIDs == nil {
		gp.recordForwards(gp.LB.Listeners)
	}
	if gp.forwardedIDs[w.ID] || gp.heldForwardedIDs[w.ID] {
		return gp.forwardedIDs[w.ID]
	}
	return slices.ContainsFunc(w.Members, func(m finding.Ref) bool { return !gp.heldMembers[m] })
}

// PlanTargetGroup plans a target group after the steps in lb, and its binding also after the steps in groups, which create
// security groups. It returns the steps after which the target group can be used.
//
// During a handover, the binding carries the labels of a Gateway only while its target group has the tags of the Gateway. If
// the labels were set earlier, a controller without support for handovers that runs in the meantime would delete the binding
// and deregister its targets. It does not delete the bindings of Ingresses, because it fails before, when it creates
// resources whose names exist in AWS.
func (gp *Planner) PlanTargetGroup(w model.TargetGroup, lb, groups []plan.StepID) []plan.StepID {
	a := plan.TargetGroupAddress(w.ID)
	tags := gp.Tags(w.ID, w.Tags)
	live, exists := gp.LiveTargetGroups[gp.LiveTargetGroupARNs[w.ID]]
	var last []plan.StepID
	if !exists {
		made := w
		made.Name = gp.freeTargetGroupName(w)
		id := gp.Add(plan.Step{
			ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create, Do: plan.CreateTargetGroup{Group: made, Tags: tags}, Impact: gp.targetGroupImpact(w),
			Why: gp.targetGroupReason(w), After: append(slices.Clone(lb), gp.ClaimStepsOf(w.Members...)...), RequestedBy: w.Members, ReplacedLoadBalancer: gp.replacedLoadBalancer(w),
		})
		last = []plan.StepID{id}
		gp.PlanAttributes(a, "", w.Attributes, nil, last, w.Members)
	} else {
		first := lb
		if gp.Have.AdoptedStack.Kind.IsGateway() {
			first = append(slices.Clone(lb), gp.planBinding(w, groups)...)
		}
		if id := gp.Retag(a, tags, live.Tags, true, first, w.Members); id != "" && gp.Have.AdoptedStack != (model.StackID{}) {
			last = []plan.StepID{id}
		}
		if changes := healthCheckChanges(w.HealthCheck, live.HealthCheck); len(changes) > 0 {
			gp.Add(plan.Step{
				ID: plan.NewStepID("health-check", a), Address: a, Verb: plan.Update, Do: plan.SetHealthCheck{Group: a, Check: w.HealthCheck},
				Changes: changes, Why: "the health check differs", After: lb, RequestedBy: w.Members,
			})
		}
		gp.PlanAttributes(a, live.ARN, w.Attributes, live.Attributes, lb, w.Members, draft.MemberOrigins(w.Members)...)
	}
	if !exists || !gp.Have.AdoptedStack.Kind.IsGateway() {
		gp.planBinding(w, append(slices.Clone(groups), last...))
	}
	return last
}

// targetGroupImpact returns the impact of creating a target group: ReplaceImpact if it is created for the replacement of a
// load balancer.
func (gp *Planner) targetGroupImpact(w model.TargetGroup) plan.Impact {
	if w.Type != model.ALBTargets && gp.replacedLoadBalancer(w) != "" {
		return plan.ReplaceImpact
	}
	return plan.NoImpact
}

// replacedLoadBalancer returns the name of the load balancer that is being replaced if a new target group is created because
// the existing target group belongs to that load balancer; empty otherwise.
func (gp *Planner) replacedLoadBalancer(w model.TargetGroup) string {
	if old := gp.LB.ShownPrevious(gp.Have); old != nil && len(gp.liveByID[w.ID]) > 0 {
		return old.Name
	}
	return ""
}

func (gp *Planner) targetGroupReason(w model.TargetGroup) string {
	if old := gp.replacedLoadBalancer(w); old != "" {
		return "a target group serves one load balancer only, and " + gp.liveByID[w.ID][0].Name + " serves " + old
	}
	for _, h := range gp.liveByID[w.ID] {
		if _, kept := gp.LiveTargetGroups[h.ARN]; !kept {
			return "replaces " + h.Name + ", which cannot be used for the desired target group"
		}
	}
	return "a rule forwards to it, " + w.Origin.String()
}
