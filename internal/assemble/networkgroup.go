package assemble

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// localTraffic reports whether only nodes with a pod of the Service take its traffic. Kubernetes answers on a
// port of its own which these are.
func (g *Group) localTraffic(r GroupRequest) bool {
	return r.Protocol != "" && g.Type == model.InstanceTargets && r.Service.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		r.Service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// defaultCheckPort is the port of the health check where no setting names one.
func (g *Group) defaultCheckPort(r GroupRequest) string {
	if g.localTraffic(r) {
		return strconv.Itoa(int(r.Service.Spec.HealthCheckNodePort))
	}
	return TrafficPort
}

// networkCheck fills in the health check of a target group behind a network load balancer.
func (g *Group) networkCheck(r GroupRequest, found *finding.List) {
	s := r.Settings
	defaults := model.HealthCheck{Protocol: "TCP", Path: "/", IntervalSeconds: 10, TimeoutSeconds: 10, HealthyThreshold: 3, UnhealthyThreshold: 3}
	if g.localTraffic(r) {
		defaults = model.HealthCheck{Protocol: "HTTP", Path: "/healthz", IntervalSeconds: 10, TimeoutSeconds: 6, HealthyThreshold: 2, UnhealthyThreshold: 2}
	}
	g.HealthCheck = model.HealthCheck{
		Port:               g.checkPort(r, found),
		Protocol:           strings.ToUpper(s.HealthProtocol.Or(defaults.Protocol)),
		IntervalSeconds:    s.HealthInterval.Or(defaults.IntervalSeconds),
		TimeoutSeconds:     defaults.TimeoutSeconds,
		HealthyThreshold:   s.HealthyThreshold.Or(defaults.HealthyThreshold),
		UnhealthyThreshold: s.UnhealthyThreshold.Or(defaults.UnhealthyThreshold),
	}
	if !r.PlainChecks {
		g.HealthCheck.TimeoutSeconds = s.HealthTimeout.Or(defaults.TimeoutSeconds)
	}
	if g.HealthCheck.Protocol == "TCP" {
		return
	}
	g.HealthCheck.Path = s.HealthPath.Or(defaults.Path)
	if !r.PlainChecks {
		g.HealthCheck.HTTPCodes = s.SuccessCodes.Or("200-399")
	}
}
