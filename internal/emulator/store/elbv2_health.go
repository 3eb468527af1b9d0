package store

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// ZoneAll is the Availability Zone of a target that receives traffic from the load balancer nodes of all zones.
const ZoneAll = "all"

// TargetHealth returns the health of a registered or draining target. It is computed from the time of the registration, the
// load balancer, the instance or the address of the target, and the forced health or the last result of a health check.
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
	if t.healthResult() != nil {
		return g.currentHealth(lb, t, now)
	}
	if p.store.Config.Health == HealthAssumed && !now.Before(start.Add(delay+p.store.Config.InitialHealthDelay)) {
		return TargetHealthResult{State: elbtypes.TargetHealthStateEnumHealthy}
	}
	return TargetHealthResult{elbtypes.TargetHealthStateEnumInitial, elbtypes.TargetHealthReasonEnumInitialHealthChecking, "Initial health checks in progress"}
}

// UnhealthyDrainingEnd returns the time at which the state unhealthy.draining of a target ends. In this state, an unhealthy
// target of an NLB keeps its connections. It returns the zero time if the target does not enter the state.
func (g *TargetGroup) UnhealthyDrainingEnd(t *Target) time.Time {
	const termination, interval = "target_health_state.unhealthy.connection_termination.enabled", "target_health_state.unhealthy.draining_interval_seconds"
	if v := t.healthResult(); v == nil || v.State != elbtypes.TargetHealthStateEnumUnhealthy || g.Attributes[termination] != "false" {
		return time.Time{}
	}
	n, err := strconv.Atoi(g.Attributes[interval])
	if err != nil || n == 0 {
		return time.Time{}
	}
	return t.VerdictChanged.Add(time.Duration(n) * time.Second)
}

// healthResult returns the forced health of a target, or else the last health check result. It is nil if there is neither.
func (t *Target) healthResult() *TargetHealthResult { return cmp.Or(t.Forced, t.Verdict) }

// currentHealth returns the health check result of a target. For an unhealthy target that still keeps its connections,
// the state is unhealthy.draining.
func (g *TargetGroup) currentHealth(lb *LoadBalancer, t *Target, now time.Time) TargetHealthResult {
	v := *t.healthResult()
	if !lb.IsALB() && now.Before(g.UnhealthyDrainingEnd(t)) {
		v.State = elbtypes.TargetHealthStateEnumUnhealthyDraining
	}
	return v
}

func notInUseHealth(why string) TargetHealthResult {
	return TargetHealthResult{elbtypes.TargetHealthStateEnumUnused, elbtypes.TargetHealthReasonEnumNotInUse, why}
}

// isLoadBalancerAddress reports whether an address is the private address of a load balancer node in the VPC.
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
	Target      string // ID as registered
	Port        int32
	// Epoch identifies the registration that was checked, see [TargetGroup.RegistrationID]. Reports about other
	// registrations are ignored. If it is empty, the report is for any registration.
	Epoch   string
	Verdict TargetHealthResult
}

// RegistrationID returns a text that identifies the registration of a target. The text changes if the target is registered
// again, or if another load balancer uses the target group.
func (g *TargetGroup) RegistrationID(t *Target) string {
	return fmt.Sprintf("%d/%d", t.Registered.UnixNano(), g.Attached.UnixNano())
}

// ReportHealth stores the health of a target, as reported by the data plane or a test. It takes the state lock. It ignores
// reports about targets that are draining or not registered.
func (w *Store) ReportHealth(r HealthReport) {
	w.Lock()
	defer w.Unlock()
	g, t := findTarget(w, r)
	if t == nil || t.IsDraining() || t.Verdict != nil && *t.Verdict == r.Verdict {
		return
	}
	if r.Epoch != "" && r.Epoch != g.RegistrationID(t) {
		return
	}
	changeHealthResult(w, t, func() { t.Verdict = &r.Verdict })
}

// ForceTargetHealth overrides the health of a target, whatever the data plane reports. A result without a state ends the
// override. It takes the state lock, and reports whether the target exists.
func (w *Store) ForceTargetHealth(r HealthReport) bool {
	w.Lock()
	defer w.Unlock()
	_, t := findTarget(w, r)
	if t == nil {
		return false
	}
	changeHealthResult(w, t, func() {
		t.Forced = nil
		if r.Verdict.State != "" {
			t.Forced = &r.Verdict
		}
	})
	return true
}

// changeHealthResult calls change, which changes the health check result of a target. It sets VerdictChanged if the state of
// the result changes.
func changeHealthResult(w *Store, t *Target, change func()) {
	before := t.healthResult()
	change()
	if after := t.healthResult(); before == nil || after == nil || before.State != after.State {
		t.VerdictChanged = w.Clock.Now()
	}
	w.WakeWaiters()
}

// findTarget returns the target of a report and its target group, or nil if the target is not registered.
func findTarget(w *Store, r HealthReport) (*TargetGroup, *Target) {
	account, region, ok := splitARN(r.TargetGroup)
	if !ok {
		return nil, nil
	}
	g := w.Partition(account, region).ELB.TargetGroups[r.TargetGroup]
	if g == nil {
		return nil, nil
	}
	return g, g.Target(r.Target, r.Port)
}

// splitARN returns the account and the region of an ARN, and false if the ARN does not have both.
func splitARN(arn string) (account, region string, ok bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[3] == "" || parts[4] == "" {
		return "", "", false
	}
	return parts[4], parts[3], true
}
