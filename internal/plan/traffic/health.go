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

// ActionsServe reports whether live actions can answer requests: they do not forward, or at least one of their target groups
// has a healthy target.
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

// reportUnavailableHealth reports whether the health of a target group cannot be read. Then a wait for its targets
// continues as if they were not healthy yet.
func (t *Traffic) reportUnavailableHealth(arn string) bool {
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
	t.ReportUnavailable(*f, "traffic stays where it is, because the health of the targets is not known", finding.BlocksNothing, of...)
	return true
}

// TargetsDeadline returns the deadline of a wait for healthy targets: the time that the health checks need plus a margin, at
// most durations.LongestWait.
func (t *Traffic) TargetsDeadline(groups []model.GroupRef) time.Duration {
	deadline := time.Duration(0)
	for _, g := range groups {
		c := t.healthCheck(g)
		// AWS uses these defaults.
		interval, threshold := cmp.Or(c.IntervalSeconds, 30), cmp.Or(c.HealthyThreshold, 5)
		deadline = max(deadline, time.Duration(interval)*time.Duration(threshold)*time.Second+durations.DeadlineMargin)
	}
	return min(deadline, durations.LongestWait)
}

// healthCheck returns the interval and the healthy threshold of the health check of a target group; 0 for a value that is
// unknown.
func (t *Traffic) healthCheck(g model.GroupRef) model.HealthCheck {
	var c model.HealthCheck
	if w := t.DesiredTargetGroups[g.ID]; w != nil {
		c = w.HealthCheck
	}
	live := t.LiveTargetGroups[t.TargetGroupARN(g)].HealthCheck
	c.IntervalSeconds = cmp.Or(c.IntervalSeconds, live.IntervalSeconds)
	c.HealthyThreshold = cmp.Or(c.HealthyThreshold, live.HealthyThreshold)
	return c
}

// AwaitTargets returns the wait until target groups have targets, or healthy targets; state is the text for which of the
// two. When the deadline of the wait has passed, AwaitTargets reports on of, or else on the first of members, that requests
// now go to target groups without healthy targets. what names the rule or default action that forwards the requests.
func (t *Traffic) AwaitTargets(key, state string, groups []model.GroupRef, of finding.Origin, members []finding.Ref, what string) plan.Wait {
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
		Message: fmt.Sprintf("%s has no healthy targets, or has targets whose first health checks are not over, after %s; %s forwards requests to it anyway",
			plan.TargetGroupsText(groups), deadline, what),
		Fix: "check the pods of the Service and the path, port and success codes of the health check",
	})
	return wait
}

// PendingTargetGroups returns the target groups to which actions send requests, except those whose ARNs are in live, and
// those that are ready.
func (t *Traffic) PendingTargetGroups(actions []model.Action, live []string, ready func(arn string) bool) (out []model.GroupRef) {
	for _, g := range model.ForwardedGroups(actions) {
		if arn := t.TargetGroupARN(g.Group); equal.WeightOrDefault(g.Weight) > 0 && !slices.Contains(live, arn) && !ready(arn) {
			out = append(out, g.Group)
		}
	}
	return out
}

// IsReady reports whether a target group is ready for requests: it has a healthy target, and no target is still in its first
// health checks. A target group that does not exist yet is not ready.
func (t *Traffic) IsReady(arn string) bool {
	h := t.health(arn)
	return h.CountInStates("healthy") > 0 && h.CountInStates("initial") == 0
}

// health returns the health of a target group. The result has no targets if the target group does not exist yet, or if its
// health is not known; in that case the plan asks for the health.
func (t *Traffic) health(arn string) observed.Health {
	h, asked := t.Have.Facts.Health[arn]
	if arn != "" && !asked && !t.reportUnavailableHealth(arn) {
		t.Ask(model.AskHealth{ARN: arn})
	}
	return h
}

// IsHealthKnown reports whether the health of all these target groups is known, or cannot be read. As long as it
// returns false, other target groups need not be asked for their health.
func (t *Traffic) IsHealthKnown(groups []model.GroupRef) bool {
	for _, g := range groups {
		if arn := t.TargetGroupARN(g); arn != "" {
			if _, asked := t.Have.Facts.Health[arn]; !asked && !t.reportUnavailableHealth(arn) {
				return false
			}
		}
	}
	return true
}

// maxHealthAsked is the maximum number of target groups whose health HasServingTargetGroup reads at once. If there are more,
// it assumes that one of them has a healthy target.
const maxHealthAsked = 5

// HasServingTargetGroup reports whether one of the target groups has a healthy target, so that requests which move away from
// it could fail. As long as the health is not known, it returns true.
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
	if len(unknown) <= maxHealthAsked {
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
