package store

import (
	"strings"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
)

// EndpointHealth returns the health state of an endpoint of an account at a time. The health of a load balancer depends on
// its targets, not on health checks of the endpoint group. The health of an instance or an Elastic IP address is the result
// of these health checks, unless Config.Health is HealthAssumed.
func (w *Store) EndpointHealth(account string, g *EndpointGroup, e *AcceleratorEndpoint, now time.Time) gatypes.HealthState {
	if e.Forced != "" {
		return e.Forced
	}
	if now.Before(e.Added.Add(w.Config.Accelerator.HealthDelay)) {
		return gatypes.HealthStateInitial
	}
	p, exists := w.partitions[partitionKey{account, g.Region}]
	if !exists {
		return gatypes.HealthStateUnhealthy
	}
	healthy := false
	switch {
	case strings.HasPrefix(e.ID, "arn:"):
		healthy = p.isLoadBalancerServing(e.ID, now)
	case !p.isEndpointServing(e.ID):
	case w.Config.Health == HealthAssumed:
		healthy = true
	case e.Checked == "":
		return gatypes.HealthStateInitial
	default:
		return e.Checked
	}
	if healthy {
		return gatypes.HealthStateHealthy
	}
	return gatypes.HealthStateUnhealthy
}

// isLoadBalancerServing reports whether a load balancer is active, has target groups, and each of them has a healthy target.
func (p *Partition) isLoadBalancerServing(arn string, now time.Time) bool {
	lb := p.ELB.LoadBalancers[arn]
	if lb == nil {
		return false
	}
	if state, _ := lb.State(now); state == elbtypes.LoadBalancerStateEnumProvisioning || state == elbtypes.LoadBalancerStateEnumFailed {
		return false
	}
	used := false
	for _, g := range p.ELB.TargetGroups {
		if g.LoadBalancer != arn {
			continue
		}
		if !p.hasHealthyTarget(g, now) {
			return false
		}
		used = true
	}
	return used
}

func (p *Partition) hasHealthyTarget(g *TargetGroup, now time.Time) bool {
	for _, t := range g.Targets {
		switch p.TargetHealth(g, t, now).State {
		case elbtypes.TargetHealthStateEnumHealthy, elbtypes.TargetHealthStateEnumUnavailable:
			return true // unavailable is the state of a Lambda function without health checks
		}
	}
	return false
}

// isEndpointServing reports whether an instance runs, or whether an Elastic IP address is associated.
func (p *Partition) isEndpointServing(id string) bool {
	if i := p.Instances[id]; i != nil {
		return p.InstanceState(i) == InstanceRunning
	}
	a := p.Addresses[id]
	return a != nil && a.AssociationID != ""
}

// EndpointHealthReport is the health state of one endpoint of an endpoint group.
type EndpointHealthReport struct {
	EndpointGroup string // ARN
	Endpoint      string // ID
	Health        gatypes.HealthState
}

// ReportEndpointHealth stores the result of the data plane's health checks of an endpoint. It takes the state lock. It
// ignores reports about endpoints that do not exist.
func (w *Store) ReportEndpointHealth(r EndpointHealthReport) {
	w.Lock()
	defer w.Unlock()
	if e := w.findAcceleratorEndpoint(r.EndpointGroup, r.Endpoint); e != nil && e.Checked != r.Health {
		e.Checked = r.Health
		w.WakeWaiters()
	}
}

// ForceEndpointHealth overrides the health state of an endpoint. An empty health state ends the override. It takes the state
// lock, and reports whether the endpoint exists.
func (w *Store) ForceEndpointHealth(r EndpointHealthReport) bool {
	w.Lock()
	defer w.Unlock()
	e := w.findAcceleratorEndpoint(r.EndpointGroup, r.Endpoint)
	if e == nil {
		return false
	}
	e.Forced = r.Health
	w.WakeWaiters()
	return true
}

func (w *Store) findAcceleratorEndpoint(group, id string) *AcceleratorEndpoint {
	parts := strings.SplitN(group, ":", 6)
	if len(parts) < 6 {
		return nil
	}
	if _, _, g := w.AcceleratorState(parts[4]).ResolveARN(group); g != nil {
		return g.Endpoint(id)
	}
	return nil
}
