package gateway

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// albTargetGroup returns the target group whose target is the application load balancer of another Gateway. held is true
// until that load balancer exists, and while the GatewayClass of that Gateway does not exist. ok is false if the backend
// cannot be used.
func (t networkListenerBuilder) albTargetGroup(p *port, obj cluster.Object, ref gwv1.BackendRef, at finding.Origin) (_ model.TargetGroupRef, ok, held bool) {
	namespace, name := backendNamespace(at.Object, ref), string(ref.Name)
	if ref.Port == nil {
		t.reportInvalidBackend(at, finding.RouteValueUnsupported, fmt.Sprintf("backend %q has no port", finding.TruncateValue(name)), "set port")
		return model.TargetGroupRef{}, false, false
	}
	if p.ListenPort().Protocol() != "TCP" {
		reportInvalidBackendOn(t.translation, p.Number, at, finding.RouteValueUnsupported, fmt.Sprintf("AWS forwards only from TCP listeners to application load balancers, and port %d is %s", p.Number, p.ListenPort().Protocol()), "use a TCPRoute and a TCP listener")
		return model.TargetGroupRef{}, false, false
	}
	if ok, fault := t.mayReference(obj, at, gwv1.GroupName, gatewayBackend, namespace, name); !ok {
		return model.TargetGroupRef{}, false, fault != 0
	}
	gw, found := cluster.Get[*gwv1.Gateway](t.view, cluster.KindGateway, namespace, name)
	if found && gw.DeletionTimestamp == nil && gatewayconfig.ClassOf(t.view, gw) == nil {
		t.Found.Add(finding.Finding{
			Object: at.Object, Field: at.Field, Reason: finding.BackendNotFound, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("GatewayClass %q of Gateway %q does not exist; port %d stays unchanged", finding.TruncateValue(string(gw.Spec.GatewayClassName)), namespace+"/"+finding.TruncateValue(name), p.Number),
			Fix:     "create the class, or correct the name of the Gateway",
		})
		return model.TargetGroupRef{}, false, true
	}
	if found {
		kind, ours := gatewayconfig.StackKind(t.view, gw)
		found = ours && kind == model.ALBGateway && gw.DeletionTimestamp == nil
	}
	if !found {
		t.view.Confirm(obj)
		t.reportInvalidBackend(at, finding.BackendNotFound, fmt.Sprintf("Gateway %q with an application load balancer does not exist", namespace+"/"+finding.TruncateValue(name)), "create the Gateway, or correct the name")
		return model.TargetGroupRef{}, false, false
	}
	arn := albARN(gw)
	if arn == "" {
		t.Found.Add(finding.Finding{
			Object: at.Object, Field: at.Field, Reason: finding.BackendNotFound, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("Gateway %q has no load balancer yet; port %d stays unchanged until it has one", namespace+"/"+finding.TruncateValue(name), p.Number),
			Fix:     "see why its condition Programmed is not True",
		})
		return model.TargetGroupRef{}, false, true
	}
	backend := cluster.RefOf(gw)
	key := assemble.TargetGroupKey{Owner: at.Object, Service: "Gateway " + namespace + "/" + name, Port: intstr.FromInt32(int32(*ref.Port))}
	handle, ok := t.targetGroups.Request(key, func() *model.TargetGroup { return t.buildALBTargetGroup(backend, int32(*ref.Port), arn, at) })
	return model.TargetGroupRef{ID: handle}, ok, !ok
}

// albARN returns the ARN of the application load balancer of a Gateway; "" if the load balancer is not active. The ARN is
// the message of condition Programmed, as in AWS Load Balancer Controller.
func albARN(gw *gwv1.Gateway) string {
	c := meta.FindStatusCondition(gw.Status.Conditions, string(gwv1.GatewayConditionProgrammed))
	if c == nil || c.Status != "True" {
		return ""
	}
	if parts := strings.Split(c.Message, "/"); len(parts) != 4 || parts[1] != "app" || !strings.HasPrefix(c.Message, "arn:") {
		return ""
	}
	return c.Message
}

// buildALBTargetGroup builds the target group whose target is a port of the application load balancer of another Gateway. It
// returns nil and adds a finding if the configuration of the target group is not valid.
func (t networkListenerBuilder) buildALBTargetGroup(backend finding.Ref, port int32, arn string, at finding.Origin) *model.TargetGroup {
	of := gatewayconfig.TargetGroupPropertiesForGateway(t.view, at.Object, backend.Namespace, backend.Name)
	if of.Configuration != nil {
		at.Field = configurationField(of.Configuration)
	}
	fault := func(what, fix string) *model.TargetGroup {
		t.Found.Add(finding.Finding{
			Object: at.Object, Field: at.Field, Reason: finding.ParametersInvalid, Blocks: finding.BlocksRule,
			Message: what + "; what exists in AWS stays unchanged", Fix: fix,
		})
		return nil
	}
	if of.Protocol != nil && *of.Protocol != "TCP" {
		return fault(fmt.Sprintf("protocol %q is not TCP, which target groups for application load balancers require", *of.Protocol), "remove protocol from the TargetGroupConfiguration")
	}
	if n := len(valueOr(of.Tags, nil)); n > settings.MaxRepeatedEntries {
		return fault(fmt.Sprintf("%d tags exceed the limit of %d entries", n, settings.MaxRepeatedEntries), "name fewer tags in the TargetGroupConfiguration")
	}
	id := fmt.Sprint(port)
	g := model.TargetGroup{
		ID: naming.GatewayTargetGroupID(t.ref, at.Object, backend, id), Type: model.ALBTargets, Port: port, Protocol: "TCP",
		AddressType: model.IPv4, LoadBalancer: arn, HealthCheck: albHealthCheck(of.HealthCheckConfig),
		Members: []finding.Ref{t.ref}, Origin: at,
		Name: naming.GatewayTargetGroup{
			Cluster: t.opt.Cluster, Gateway: t.ref, Route: at.Object, Backend: backend, Port: id, Type: model.ALBTargets, Protocol: "TCP",
		}.Name(),
	}
	t.setNameAndTags(&g, of, at)
	return &g
}

// albHealthCheck returns the health check of a target group whose target is an application load balancer.
func albHealthCheck(c *gwconfig.HealthCheckConfiguration) model.HealthCheck {
	if c == nil {
		c = &gwconfig.HealthCheckConfiguration{}
	}
	out := model.HealthCheck{
		Port: cmp.Or(valueOr(c.HealthCheckPort, ""), assemble.HealthCheckOnTrafficPort), Protocol: cmp.Or(string(valueOr(c.HealthCheckProtocol, "")), "HTTP"),
		IntervalSeconds: valueOr(c.HealthCheckInterval, 15), TimeoutSeconds: valueOr(c.HealthCheckTimeout, 5),
		HealthyThreshold: valueOr(c.HealthyThresholdCount, 3), UnhealthyThreshold: valueOr(c.UnhealthyThresholdCount, 3),
	}
	if out.Protocol == "TCP" {
		return out
	}
	out.Path, out.HTTPCodes = cmp.Or(valueOr(c.HealthCheckPath, ""), "/"), "200-399"
	if c.Matcher != nil {
		out.HTTPCodes = cmp.Or(valueOr(c.Matcher.HTTPCode, ""), out.HTTPCodes)
	}
	return out
}
