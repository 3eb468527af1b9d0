package assemble

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// hasLocalTrafficPolicy reports whether nodes forward traffic only to pods on the same node (externalTrafficPolicy Local).
// Then port spec.healthCheckNodePort of each node shows whether the node has a pod of the Service. A Service of type
// NodePort has no healthCheckNodePort. As in aws-load-balancer-controller, the result for such a Service is true only
// behind a Gateway whose configuration sets the port of the health check.
func (g *TargetGroup) hasLocalTrafficPolicy(r TargetGroupRequest) bool {
	return r.Protocol != "" && g.Type == model.InstanceTargets && r.Service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal &&
		(r.Service.Spec.Type == corev1.ServiceTypeLoadBalancer || r.Kind.IsGateway() && r.Settings.HealthPort.Set)
}

// defaultHealthCheckPort returns the port of the health check if no setting sets one.
func (g *TargetGroup) defaultHealthCheckPort(r TargetGroupRequest) string {
	if g.hasLocalTrafficPolicy(r) {
		return strconv.Itoa(int(r.Service.Spec.HealthCheckNodePort))
	}
	return HealthCheckOnTrafficPort
}

// setNetworkHealthCheck sets the health check of a target group behind a network load balancer.
func (g *TargetGroup) setNetworkHealthCheck(r TargetGroupRequest, found *finding.List) {
	s := r.Settings
	defaults := model.HealthCheck{Protocol: "TCP", Path: "/", IntervalSeconds: 10, TimeoutSeconds: 10, HealthyThreshold: 3, UnhealthyThreshold: 3}
	if r.Kind.IsGateway() {
		defaults.IntervalSeconds, defaults.TimeoutSeconds = 15, 5
	}
	if g.hasLocalTrafficPolicy(r) {
		defaults = model.HealthCheck{Protocol: "HTTP", Path: "/healthz", IntervalSeconds: 10, TimeoutSeconds: 6, HealthyThreshold: 2, UnhealthyThreshold: 2}
	}
	g.HealthCheck = model.HealthCheck{
		Port:               g.healthCheckPort(r, found),
		Protocol:           strings.ToUpper(s.HealthProtocol.ValueOr(defaults.Protocol)),
		IntervalSeconds:    s.HealthInterval.ValueOr(defaults.IntervalSeconds),
		TimeoutSeconds:     defaults.TimeoutSeconds,
		HealthyThreshold:   s.HealthyThreshold.ValueOr(defaults.HealthyThreshold),
		UnhealthyThreshold: s.UnhealthyThreshold.ValueOr(defaults.UnhealthyThreshold),
	}
	if !r.BasicHealthChecks {
		g.HealthCheck.TimeoutSeconds = s.HealthTimeout.ValueOr(defaults.TimeoutSeconds)
	}
	g.reportHealthCheckLimits(r, found)
	if g.HealthCheck.Protocol == "TCP" {
		return
	}
	g.HealthCheck.Path = s.HealthPath.ValueOr(defaults.Path)
	if !r.BasicHealthChecks {
		g.HealthCheck.HTTPCodes = s.SuccessCodes.ValueOr("200-399")
	}
}

// reportHealthCheckLimits reports numbers of a health check that AWS rejects. AWS also rejects an interval that a user
// sets without a timeout if it is shorter than the default timeout.
func (g *TargetGroup) reportHealthCheckLimits(r TargetGroupRequest, found *finding.List) {
	s, c := r.Settings, g.HealthCheck
	fault := func(at finding.Origin, what, fix string) {
		found.Add(finding.Finding{Object: at.Object, Field: at.Field, Reason: finding.AnnotationInvalid, Blocks: finding.BlocksRule,
			Message: what + "; the target group and the listeners that forward to it stay unchanged if they exist, and are not created otherwise", Fix: fix})
	}
	for _, n := range []struct {
		of          settings.Opt[int32]
		value       int32
		least, most int32
	}{
		{s.HealthInterval, c.IntervalSeconds, 5, 300},
		{s.HealthTimeout, c.TimeoutSeconds, 2, 120},
		{s.HealthyThreshold, c.HealthyThreshold, 2, 10},
		{s.UnhealthyThreshold, c.UnhealthyThreshold, 2, 10},
	} {
		if n.of.Set && (n.value < n.least || n.value > n.most) {
			fault(n.of.Origin, fmt.Sprintf("\"%d\" is not from %d to %d", n.of.Value, n.least, n.most), "correct the value or remove it")
			return
		}
	}
	if c.TimeoutSeconds <= c.IntervalSeconds {
		return
	}
	timeout := r.settingName("healthcheck-timeout-seconds")
	if s.HealthTimeout.Set && !r.BasicHealthChecks {
		fault(s.HealthTimeout.Origin, fmt.Sprintf("the timeout \"%d\" is longer than the interval of %d seconds", c.TimeoutSeconds, c.IntervalSeconds),
			"set the timeout to the interval or less, or set "+r.settingName("healthcheck-interval-seconds")+" to a longer interval")
		return
	}
	fix := fmt.Sprintf("set %s to %d or less, or the interval to %[3]d or more", timeout, c.IntervalSeconds, c.TimeoutSeconds)
	if r.BasicHealthChecks {
		fix = fmt.Sprintf("set the interval to %d or more", c.TimeoutSeconds)
	}
	fault(s.HealthInterval.Origin, fmt.Sprintf("the interval \"%d\" is shorter than the default timeout of %d seconds", c.IntervalSeconds, c.TimeoutSeconds), fix)
}
