package store

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// ZoneAll is the zone of a target that receives traffic from the nodes of all zones.
const ZoneAll = "all"

// TargetHealth computes the health of a registered or draining target from its history,
// its load balancer, its instance or address and the last result of a health check.
func (p *Partition) TargetHealth(g *TargetGroup, t *Target, now time.Time) TargetHealthResult {
	if t.IsDraining() {
		return TargetHealthResult{elbtypes.TargetHealthStateEnumDraining, elbtypes.TargetHealthReasonEnumDeregistrationInProgress, "Target deregistration is in progress"}
	}
	lb := p.ELB.LoadBalancers[g.LoadBalancer]
	if lb == nil {
		return notInUseHealth("Target group is not configured to receive traffic from the load balancer")
	}
	if g.Type == elbtypes.TargetTypeEnumLambda && !g.Check.Enabled {
		return TargetHealthResult{elbtypes.TargetHealthStateEnumUnavailable, elbtypes.TargetHealthReasonEnumHealthCheckDisabled, "Health checks are not enabled for this target"}
	}
	zone := t.Zone
	switch g.Type {
	case elbtypes.TargetTypeEnumInstance:
		i, state := p.Instances[t.ID], "terminated"
		if i != nil {
			state, zone = p.InstanceState(i), i.Zone
		}
		if state != InstanceRunning {
			return TargetHealthResult{elbtypes.TargetHealthStateEnumUnused, elbtypes.TargetHealthReasonEnumInvalidState, "Target is in the " + state + " state"}
		}
	case elbtypes.TargetTypeEnumIp:
		if p.isLoadBalancerAddress(g.VPC, t.ID) {
			return TargetHealthResult{elbtypes.TargetHealthStateEnumUnused, elbtypes.TargetHealthReasonEnumIpUnusable, "The IP address cannot be used as a target, as it is in use by a load balancer"}
		}
	}
	if zone != "" && zone != ZoneAll && !lb.IsZoneEnabled(zone) {
		return notInUseHealth("Target is in an Availability Zone that is not enabled for the load balancer")
	}
	start := latestTime(t.Registered, g.Attached, lb.Active)
	delay := p.store.Config.ELB.RegistrationDelayNLB
	if lb.IsALB() {
		delay = p.store.Config.ELB.RegistrationDelayALB
	}
	if now.Before(start.Add(delay)) {
		return TargetHealthResult{elbtypes.TargetHealthStateEnumInitial, elbtypes.TargetHealthReasonEnumRegistrationInProgress, "Target registration is in progress"}
	}
	if t.Verdict != nil {
		return g.currentHealth(lb, t, now)
	}
	if p.store.Config.Health == HealthAssumed && !now.Before(start.Add(delay+p.store.Config.InitialHealthDelay)) {
		return TargetHealthResult{State: elbtypes.TargetHealthStateEnumHealthy}
	}
	return TargetHealthResult{elbtypes.TargetHealthStateEnumInitial, elbtypes.TargetHealthReasonEnumInitialHealthChecking, "Initial health checks in progress"}
}

// UnhealthyDrainingEnd returns the end of state unhealthy.draining, in which an unhealthy target of a Network Load
// Balancer keeps its connections; zero if the target does not enter this state.
func (g *TargetGroup) UnhealthyDrainingEnd(t *Target) time.Time {
	const termination, interval = "target_health_state.unhealthy.connection_termination.enabled", "target_health_state.unhealthy.draining_interval_seconds"
	if t.Verdict == nil || t.Verdict.State != elbtypes.TargetHealthStateEnumUnhealthy || g.Attributes[termination] != "false" {
		return time.Time{}
	}
	n, err := strconv.Atoi(g.Attributes[interval])
	if err != nil || n == 0 {
		return time.Time{}
	}
	return t.Compared.Add(time.Duration(n) * time.Second)
}

// currentHealth returns the last health result of a target, with state unhealthy.draining if an
// unhealthy target still keeps its connections.
func (g *TargetGroup) currentHealth(lb *LoadBalancer, t *Target, now time.Time) TargetHealthResult {
	v := *t.Verdict
	if !lb.IsALB() && now.Before(g.UnhealthyDrainingEnd(t)) {
		v.State = elbtypes.TargetHealthStateEnumUnhealthyDraining
	}
	return v
}

func notInUseHealth(why string) TargetHealthResult {
	return TargetHealthResult{elbtypes.TargetHealthStateEnumUnused, elbtypes.TargetHealthReasonEnumNotInUse, why}
}

// isLoadBalancerAddress reports whether an address belongs to a node of a load balancer in
// the VPC.
func (p *Partition) isLoadBalancerAddress(vpc, address string) bool {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	for _, lb := range p.ELB.LoadBalancers {
		if lb.VPC != vpc {
			continue
		}
		for _, z := range lb.Zones {
			if z.Address == a.String() {
				return true
			}
		}
	}
	return false
}

func latestTime(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}

// HealthReport is the result of health checks of one target.
type HealthReport struct {
	TargetGroup string // ARN
	Target      string // id as registered
	Port        int32
	// Epoch is the epoch of the checked registration, see [TargetGroup.Epoch]. Reports on earlier registrations are
	// ignored. An empty epoch matches any registration.
	Epoch   string
	Verdict TargetHealthResult
}

// Epoch returns a text that identifies a registration of a target. It changes when the target is registered again
// and when another load balancer uses the target group.
func (g *TargetGroup) Epoch(t *Target) string {
	return fmt.Sprintf("%d/%d", t.Registered.UnixNano(), g.Attached.UnixNano())
}

// ReportHealth stores a change of a target's health from the data plane or a test. It takes the lock. It ignores
// reports on targets that are no longer registered.
func (w *Store) ReportHealth(r HealthReport) {
	account, region, ok := splitARN(r.TargetGroup)
	if !ok {
		return
	}
	w.Lock()
	defer w.Unlock()
	g := w.Partition(account, region).ELB.TargetGroups[r.TargetGroup]
	if g == nil {
		return
	}
	t := g.Target(r.Target, r.Port)
	if t == nil || t.IsDraining() || t.Verdict != nil && *t.Verdict == r.Verdict {
		return
	}
	if r.Epoch != "" && r.Epoch != g.Epoch(t) {
		return
	}
	v := r.Verdict
	if t.Verdict == nil || t.Verdict.State != v.State {
		t.Compared = w.Clock.Now()
	}
	t.Verdict = &v
	w.WakeWaiters()
}

// splitARN returns the account and region of an ARN.
func splitARN(arn string) (account, region string, ok bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[3] == "" || parts[4] == "" {
		return "", "", false
	}
	return parts[4], parts[3], true
}
