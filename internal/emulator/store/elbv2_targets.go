package store

import (
	"strconv"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// Target is one registration in a target group, identified by ID and port.
type Target struct {
	ID           string
	Port         int32  // 0 for lambda
	Zone         string // zone name, "all", or empty if there is none
	QUICServerID string
	Registered   time.Time
	// DrainUntil is when a deregistered target leaves; zero while registered.
	DrainUntil time.Time
	// Terminated is whether the target left because its instance was
	// terminated: the listing does not show it while it drains.
	Terminated bool
	// Verdict is the last health result from the data plane or from a test; nil if
	// there is none since registration.
	Verdict *Verdict
	// Judged is when the state of the verdict last changed.
	Compared time.Time
}

// Verdict is what health checks found.
type Verdict struct {
	State       elbtypes.TargetHealthStateEnum
	Reason      elbtypes.TargetHealthReasonEnum
	Description string
}

// Draining reports whether the target was deregistered and has not left yet.
func (t *Target) Draining() bool { return !t.DrainUntil.IsZero() }

// Target returns the registration of an ID and port, nil if there is none.
func (g *TargetGroup) Target(id string, port int32) *Target {
	for _, t := range g.Targets {
		if t.ID == id && t.Port == port {
			return t
		}
	}
	return nil
}

// RemoveEnded deregisters the targets whose instance was terminated, and removes
// those whose draining has ended. Operations call it before they read targets.
func (p *Partition) RemoveEnded(g *TargetGroup, now time.Time) {
	if g.Type == elbtypes.TargetTypeEnumInstance {
		for _, t := range g.Targets {
			p.leaveWithInstance(g, t, now)
		}
	}
	g.dropDrained(now)
}

// leaveWithInstance deregisters a target whose instance was terminated, from
// the moment of the termination.
func (p *Partition) leaveWithInstance(g *TargetGroup, t *Target, now time.Time) {
	i := p.Instances[t.ID]
	switch {
	case t.Draining():
	case i == nil: // terminated so long ago that it is not listed any more
		t.DrainUntil = now
	case p.InstanceState(i) == InstanceTerminated:
		delay, _ := strconv.Atoi(g.Attributes["deregistration_delay.timeout_seconds"]) // the service checked it
		ended := i.Since.Add(p.store.Config.Delays.Instance)
		t.DrainUntil, t.Terminated = ended.Add(time.Duration(delay)*time.Second), true
	}
}

func (g *TargetGroup) dropDrained(now time.Time) {
	kept := g.Targets[:0]
	for _, t := range g.Targets {
		if !t.Draining() || now.Before(t.DrainUntil) {
			kept = append(kept, t)
		}
	}
	clear(g.Targets[len(kept):])
	g.Targets = kept
}

// Forwards calls visit for the ARN of every target group that the actions
// forward to.
func Forwards(actions []elbtypes.Action, visit func(arn string)) {
	for _, a := range actions {
		if a.Type != elbtypes.ActionTypeEnumForward {
			continue
		}
		if a.ForwardConfig == nil {
			continue
		}
		for _, t := range a.ForwardConfig.TargetGroups {
			if t.TargetGroupArn != nil {
				visit(*t.TargetGroupArn)
			}
		}
	}
}

// Reattach recomputes which target groups a load balancer uses. It must be
// called after each change of its listeners or rules.
func (s *ELBState) Reattach(loadBalancer string, now time.Time) {
	used := map[string]bool{}
	s.RulesFor(loadBalancer, func(r *Rule) { Forwards(r.Actions, func(arn string) { used[arn] = true }) })
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
				t.Verdict = nil // the verdict comes from the load balancer that checked
			}
		}
		g.LoadBalancer = lb
	}
}
