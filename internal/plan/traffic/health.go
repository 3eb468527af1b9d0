package traffic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// ActionsServe reports whether the current actions of a rule or listener can answer requests: they do not forward, or one of
// their target groups has a healthy target. The result is true while the health is unknown.
func (t *Traffic) ActionsServe(actions []model.Action) bool {
	f := equal.ForwardOf(actions)
	if f == nil {
		return true
	}
	var arns []string
	for _, g := range f.Groups {
		arns = append(arns, g.Group.ARN)
	}
	return t.HasServingTargetGroup(arns)
}

// reportIfHealthUnavailable reports whether the health of a target group cannot be read. If so, it adds a finding, and a
// wait for the targets continues as if they were not healthy.
func (t *Traffic) reportIfHealthUnavailable(arn string) bool {
	f := t.ReadFault(model.AskHealth{ARN: arn})
	if f == nil {
		return false
	}
	var of []finding.Origin
	for _, w := range t.Want.TargetGroups {
		if t.LiveTargetGroupARNs[w.ID] == arn {
			of = draft.MemberOrigins(w.Members)
		}
	}
	t.ReportUnavailable(*f, "requests go to the current target groups, because the health of the targets is unknown", finding.BlocksNothing, of...)
	return true
}

// TargetsDeadline returns how long to wait for healthy targets in target groups: the time that their health checks need plus
// a margin, at most durations.LongestWait.
func (t *Traffic) TargetsDeadline(groups []model.TargetGroupRef) time.Duration {
	deadline := time.Duration(0)
	for _, g := range groups {
		c := t.healthCheck(g)
		// AWS uses these defaults.
		interval, threshold := cmp.Or(c.IntervalSeconds, 30), cmp.Or(c.HealthyThreshold, 5)
		deadline = max(deadline, time.Duration(interval)*time.Duration(threshold)*time.Second+durations.DeadlineMargin)
	}
	return min(deadline, durations.LongestWait)
}

// healthCheck returns the desired health check of a target group. An interval or healthy threshold that is not set in the
// desired health check has its current value, or 0 if this is unknown.
func (t *Traffic) healthCheck(g model.TargetGroupRef) model.HealthCheck {
	var c model.HealthCheck
	if w := t.DesiredTargetGroups[g.ID]; w != nil {
		c = w.HealthCheck
	}
	live := t.LiveTargetGroups[t.TargetGroupARN(g)].HealthCheck
	c.IntervalSeconds = cmp.Or(c.IntervalSeconds, live.IntervalSeconds)
	c.HealthyThreshold = cmp.Or(c.HealthyThreshold, live.HealthyThreshold)
	return c
}

// AwaitTargets returns a wait until target groups have targets or healthy targets. key identifies the wait, and state is the
// text "targets" or "healthy targets". After the deadline, AwaitTargets returns the zero Wait, and adds a finding that
// requests go to target groups without healthy targets. The object of the finding is that of the parameter of, or the first
// of members if of is empty. what names the rule or default action that forwards the requests.
func (t *Traffic) AwaitTargets(key, state string, groups []model.TargetGroupRef, of finding.Origin, members []finding.Ref, what string) plan.Wait {
	deadline := t.TargetsDeadline(groups)
	wait := t.NewWait(key, state+" in "+plan.TargetGroupNamesText(groups), deadline)
	if wait.For != "" {
		return wait
	}
	if of.Object.IsZero() && len(members) > 0 {
		of.Object = members[0]
	}
	t.Findings.Add(finding.Finding{
		Object: of.Object, Field: of.Field, Reason: finding.WaitExpired, Severity: finding.Warning,
		Message: fmt.Sprintf("%s has no healthy targets, or has targets whose first health checks have not finished, after %s; %s now forwards requests to this target group",
			plan.TargetGroupsText(groups), deadline, what),
		Fix: "check the pods of the Service and the path, port and success codes of the health check",
	})
	return wait
}

// PendingTargetGroups returns the target groups to which actions forward with an effective weight above 0, except those
// whose ARNs are in live and those for which ready returns true.
func (t *Traffic) PendingTargetGroups(actions []model.Action, live []string, ready func(arn string) bool) (out []model.TargetGroupRef) {
	groups := model.ForwardedTargetGroups(actions)
	for i, g := range groups {
		if arn := t.TargetGroupARN(g.Group); equal.EffectiveWeight(groups, i) > 0 && !slices.Contains(live, arn) && !ready(arn) {
			out = append(out, g.Group)
		}
	}
	return out
}

// IsReady reports whether a target group is ready for requests (observed.Health.IsReady). Rules, default actions, moves and
// replacements depend on it. It is also used for target groups that the stack does not own, and for those whose only target
// is a load balancer. A target group without ARN does not exist yet and is not ready. If the health is unknown, IsReady
// returns false and requests the health.
func (t *Traffic) IsReady(arn string) bool { return t.health(arn).IsReady() }

// health returns the health of a target group. The result has no targets if arn is empty or if the health is unknown. If the
// health is unknown but can be read, it adds a question for it.
func (t *Traffic) health(arn string) observed.Health {
	h, asked := t.Have.Facts.Health[arn]
	if arn != "" && !asked && !t.reportIfHealthUnavailable(arn) {
		t.Ask(model.AskHealth{ARN: arn})
	}
	return h
}

// IsHealthReadDone reports whether the health of each target group has been read or cannot be read. Target groups that do not
// exist yet are ignored. While the result is false, the health of other target groups need not be read.
func (t *Traffic) IsHealthReadDone(groups []model.TargetGroupRef) bool {
	for _, g := range groups {
		if arn := t.TargetGroupARN(g); arn != "" {
			if _, asked := t.Have.Facts.Health[arn]; !asked && !t.reportIfHealthUnavailable(arn) {
				return false
			}
		}
	}
	return true
}

// maxHealthReads is the maximum number of target groups of unknown health whose health HasServingTargetGroup requests. If
// there are more, it requests none and assumes that one of them has a healthy target.
const maxHealthReads = 5

// HasServingTargetGroup reports whether one of the target groups has a healthy target. If so, requests could fail when they
// move to other target groups. If the health of a target group is unknown, it returns true and requests the health of at
// most maxHealthReads target groups.
func (t *Traffic) HasServingTargetGroup(arns []string) bool {
	var unknown []string
	for _, arn := range arns {
		h, asked := t.Have.Facts.Health[arn]
		if !asked && !slices.Contains(unknown, arn) {
			unknown = append(unknown, arn)
		}
		if h.CountInStates("healthy") > 0 {
			return true
		}
	}
	if len(unknown) <= maxHealthReads {
		for _, arn := range unknown {
			t.health(arn)
		}
	}
	return len(unknown) > 0
}

// hasRegisteredTarget reports whether a target group has targets that are not draining.
func (t *Traffic) hasRegisteredTarget(arn string) bool {
	h := t.health(arn)
	return len(h.Targets) > h.CountInStates("draining")
}
