package store

import (
	"slices"
	"strconv"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// Target is one registration in a target group, identified by ID and port.
type Target struct {
	ID           string
	Port         int32  // 0 for a Lambda function
	Zone         string // zone name, "all", or ""
	QUICServerID string
	Registered   time.Time
	// DrainUntil is the time at which the draining of a deregistered target ends. It is zero for a registered target.
	DrainUntil time.Time
	// Terminated is set if the target was deregistered because its instance was terminated. While such a target drains,
	// DescribeTargetHealth does not list it.
	Terminated bool
	// Verdict is the last health check result, as reported by the data plane or a test. It is nil if there is no result
	// since the registration.
	Verdict *TargetHealthResult
	// Forced overrides Verdict. It is nil if the health of the target is not forced.
	Forced *TargetHealthResult
	// VerdictChanged is the time at which the state of the last health check result, reported or forced, changed.
	VerdictChanged time.Time
}

// TargetHealthResult is the result of health checks.
type TargetHealthResult struct {
	State       elbtypes.TargetHealthStateEnum
	Reason      elbtypes.TargetHealthReasonEnum
	Description string
}

// IsDraining reports whether the target was deregistered and has not been removed yet.
func (t *Target) IsDraining() bool { return !t.DrainUntil.IsZero() }

// Target returns the target with an ID and a port, or nil if there is none.
func (g *TargetGroup) Target(id string, port int32) *Target {
	for _, t := range g.Targets {
		if t.ID == id && t.Port == port {
			return t
		}
	}
	return nil
}

// RemoveDrainedTargets deregisters the targets whose instance was terminated, and removes the targets whose draining has
// ended. Operations call it before they read targets.
func (p *Partition) RemoveDrainedTargets(g *TargetGroup, now time.Time) {
	if g.Type == elbtypes.TargetTypeEnumInstance {
		for _, t := range g.Targets {
			p.deregisterTerminated(g, t, now)
		}
	}
	g.removeDrained(now)
}

// deregisterTerminated deregisters a target if its instance was terminated. The draining begins at the time of the
// termination.
func (p *Partition) deregisterTerminated(g *TargetGroup, t *Target, now time.Time) {
	i := p.Instances[t.ID]
	switch {
	case t.IsDraining():
	case i == nil: // the instance was terminated long ago and is no longer listed
		t.DrainUntil = now
	case p.InstanceState(i) == InstanceTerminated:
		delay, _ := strconv.Atoi(g.Attributes["deregistration_delay.timeout_seconds"]) // package elbv2 has validated the value
		ended := i.Since.Add(p.store.Config.Delays.Instance)
		t.DrainUntil, t.Terminated = ended.Add(time.Duration(delay)*time.Second), true
	}
}

func (g *TargetGroup) removeDrained(now time.Time) {
	g.Targets = slices.DeleteFunc(g.Targets, func(t *Target) bool { return t.IsDraining() && !now.Before(t.DrainUntil) })
}

// EachForwardedTargetGroup calls visit for the ARN of each target group to which the actions forward.
func EachForwardedTargetGroup(actions []elbtypes.Action, visit func(arn string)) {
	for _, a := range actions {
		if a.Type != elbtypes.ActionTypeEnumForward || a.ForwardConfig == nil {
			continue
		}
		for _, t := range a.ForwardConfig.TargetGroups {
			if t.TargetGroupArn != nil {
				visit(*t.TargetGroupArn)
			}
		}
	}
}

// UpdateTargetGroupUse determines which target groups a load balancer uses, and updates these target groups. It must be
// called after each change of the listeners or rules of the load balancer.
func (s *ELBState) UpdateTargetGroupUse(loadBalancer string, now time.Time) {
	used := map[string]bool{}
	s.EachRuleOfLoadBalancer(loadBalancer, func(r *Rule) { EachForwardedTargetGroup(r.Actions, func(arn string) { used[arn] = true }) })
	for arn, g := range s.TargetGroups {
		lb := g.LoadBalancer
		switch {
		case used[arn]:
			lb = loadBalancer
		case lb == loadBalancer:
			lb = ""
		}
		switch {
		case lb == g.LoadBalancer:
			continue
		case lb == "":
			g.Detached = now
		default:
			g.Attached = now
			for _, t := range g.Targets {
				t.Verdict = nil // health check results depend on the load balancer
			}
		}
		g.LoadBalancer = lb
	}
}
