package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// targetUse is the use of a target group by a route that forwards to it.
type targetUse struct {
	generator   *generator  // the generator of the load balancer
	service     finding.Ref // the Service of the target group
	member      finding.Ref // the Ingress whose rule forwards to the target group
	route       string      // name of the HTTPRoute, which is in the namespace of member
	targetGroup *model.TargetGroup
}

// targetConfigurations returns one TargetGroupConfiguration for each Service, which all load balancers of the Service share.
// It contains all settings, because the defaults of a Gateway differ from those of an Ingress. If ports of a Service have
// different settings, targetConfigurations adds a note.
func targetConfigurations(uses map[finding.Ref][]targetUse) (out []Object) {
	for _, svc := range slices.SortedFunc(maps.Keys(uses), finding.Ref.Compare) {
		config := &gwconfig.TargetGroupConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "TargetGroupConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: objectName(svc.Namespace, svc.Name, targetsSuffix)},
		}
		config.Spec.TargetReference = &gwconfig.TargetReference{Name: svc.Name}
		type memberProps struct {
			member finding.Ref
			props  gwconfig.TargetGroupProps
			routes []string
		}
		var members []memberProps
		var stacks []model.StackID
		for _, u := range uses[svc] {
			if !slices.Contains(stacks, u.generator.ID) {
				stacks = append(stacks, u.generator.ID)
			}
			props := u.generator.targetGroupProps(u)
			i := slices.IndexFunc(members, func(o memberProps) bool { return o.member == u.member })
			if i < 0 {
				members = append(members, memberProps{member: u.member, props: props})
				i = len(members) - 1
			}
			if !sameProps(members[i].props, props) {
				u.generator.addNote(Lost, u.member, u.targetGroup.Origin.Field, fmt.Sprintf("Service %s/%s has ports with different settings, but a TargetGroupConfiguration applies to all of its ports", svc.Namespace, svc.Name),
					"give each port a Service of its own")
			}
			if !slices.Contains(members[i].routes, u.route) {
				members[i].routes = append(members[i].routes, u.route)
			}
		}
		from := fmt.Sprintf("Service %s/%s behind", svc.Namespace, svc.Name)
		for i, o := range members {
			if i > 0 {
				from += " and"
			}
			from += fmt.Sprintf(" Ingress %s/%s", o.member.Namespace, o.member.Name)
			if len(members) == 1 {
				config.Spec.DefaultConfiguration = o.props
				break
			}
			for _, r := range o.routes {
				config.Spec.RouteConfigurations = append(config.Spec.RouteConfigurations, gwconfig.RouteConfiguration{
					RouteIdentifier:  gwconfig.RouteIdentifier{RouteKind: "HTTPRoute", RouteNamespace: o.member.Namespace, RouteName: r},
					TargetGroupProps: o.props,
				})
			}
		}
		out = append(out, Object{Object: config, Origin: from, SharedBy: stacks})
	}
	return out
}

func sameProps(a, b gwconfig.TargetGroupProps) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// targetGroupProps returns the settings of a target group for a TargetGroupConfiguration.
func (g *generator) targetGroupProps(u targetUse) gwconfig.TargetGroupProps {
	t := u.targetGroup
	out := gwconfig.TargetGroupProps{
		TargetType: new(gwconfig.TargetType(t.Type)), Protocol: new(gwconfig.Protocol(t.Protocol)), ProtocolVersion: new(gwconfig.ProtocolVersion(t.ProtocolVersion)),
		HealthCheckConfig: g.healthCheck(u), TargetGroupAttributes: attributeList(t.Attributes), NodeSelector: t.Binding.NodeSelector,
		TargetControlPort: t.ControlPort, Tags: g.tagsOf(t.Tags, migratedFromIngress(u.member)),
	}
	if t.AddressType == model.IPv6 {
		out.IPAddressType = new(gwconfig.TargetGroupIPAddressType(t.AddressType))
	}
	if t.Binding.MultiCluster {
		out.EnableMultiCluster = new(true)
	}
	return out
}

// healthCheck returns the health check of a target group for a TargetGroupConfiguration. It adds a note if the health check
// uses a node port that the manifests lack.
func (g *generator) healthCheck(u targetUse) *gwconfig.HealthCheckConfiguration {
	c := u.targetGroup.HealthCheck
	port := &c.Port
	if g.usesHealthCheckNodePort(u) {
		port = nil
	}
	if g.usesPlaceholderNodePort(u) {
		g.addNote(Lost, u.member, u.targetGroup.Origin.Field, fmt.Sprintf("the health check of Service %s/%s uses a node port that is missing in the manifests", u.service.Namespace, u.service.Name),
			"translate from the cluster, or set nodePort")
	}
	return healthCheckConfiguration(c, port)
}

// healthCheckConfiguration returns a health check for a TargetGroupConfiguration, with all settings. If port is nil, the
// port is left out.
func healthCheckConfiguration(c model.HealthCheck, port *string) *gwconfig.HealthCheckConfiguration {
	out := &gwconfig.HealthCheckConfiguration{
		HealthCheckProtocol: new(gwconfig.HealthCheckProtocol(c.Protocol)), HealthCheckPath: nilIfEmpty(c.Path), HealthCheckPort: port,
		HealthCheckInterval: &c.IntervalSeconds, HealthCheckTimeout: &c.TimeoutSeconds,
		HealthyThresholdCount: &c.HealthyThreshold, UnhealthyThresholdCount: &c.UnhealthyThreshold,
	}
	if codes := nilIfEmpty(c.HTTPCodes); codes != nil {
		out.Matcher = &gwconfig.HealthCheckMatcher{HTTPCode: codes}
	} else if codes := nilIfEmpty(c.GRPCCodes); codes != nil {
		out.Matcher = &gwconfig.HealthCheckMatcher{GRPCCode: codes}
	}
	return out
}

// usesPlaceholderNodePort reports whether the port of the health check is a placeholder for a node port.
func (g *generator) usesPlaceholderNodePort(u targetUse) bool {
	svc, ok := cluster.Get[*corev1.Service](g.view, cluster.KindService, u.service.Namespace, u.service.Name)
	return ok && u.targetGroup.Type == model.InstanceTargets && slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.NodePort <= lastNodePort && u.targetGroup.HealthCheck.Port == strconv.Itoa(int(p.NodePort))
	})
}

// usesHealthCheckNodePort reports whether the port of the health check is the healthCheckNodePort of the Service. The
// TargetGroupConfiguration omits this port, because it may change with the Service.
func (g *generator) usesHealthCheckNodePort(u targetUse) bool {
	svc, ok := cluster.Get[*corev1.Service](g.view, cluster.KindService, u.service.Namespace, u.service.Name)
	return ok && svc.Spec.HealthCheckNodePort != 0 && u.targetGroup.HealthCheck.Port == strconv.Itoa(int(svc.Spec.HealthCheckNodePort))
}
