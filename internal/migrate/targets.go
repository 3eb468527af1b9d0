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

// use is a target group that a route forwards to.
type use struct {
	by      *grouping
	service finding.Ref
	member  finding.Ref
	route   string // name, in the namespace of the member
	group   *model.TargetGroup
}

// targetConfigurations makes the TargetGroupConfigurations of Services, each for all load balancers. All settings are
// written, because those that are not mean something else for a Gateway.
func targetConfigurations(uses map[finding.Ref][]use) (out []Object) {
	for _, svc := range slices.SortedFunc(maps.Keys(uses), finding.Ref.Compare) {
		config := &gwconfig.TargetGroupConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "TargetGroupConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: name(svc.Namespace, svc.Name, targetsSuffix)},
		}
		config.Spec.TargetReference = &gwconfig.TargetReference{Name: svc.Name}
		type of struct {
			member finding.Ref
			props  gwconfig.TargetGroupProps
			routes []string
		}
		var all []of
		var stacks []model.StackID
		for _, u := range uses[svc] {
			if !slices.Contains(stacks, u.by.ID) {
				stacks = append(stacks, u.by.ID)
			}
			props := u.by.props(u)
			i := slices.IndexFunc(all, func(o of) bool { return o.member == u.member })
			if i < 0 {
				all = append(all, of{member: u.member, props: props})
				i = len(all) - 1
			}
			if !sameProps(all[i].props, props) {
				u.by.note(Lost, u.member, u.group.Origin.Field, fmt.Sprintf("Service %s/%s has ports with settings of their own, and a TargetGroupConfiguration is for all of its ports", svc.Namespace, svc.Name),
					"give each port a Service of its own")
			}
			if !slices.Contains(all[i].routes, u.route) {
				all[i].routes = append(all[i].routes, u.route)
			}
		}
		from := fmt.Sprintf("Service %s/%s behind", svc.Namespace, svc.Name)
		for i, o := range all {
			if i > 0 {
				from += " and"
			}
			from += fmt.Sprintf(" Ingress %s/%s", o.member.Namespace, o.member.Name)
			if len(all) == 1 {
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
		out = append(out, Object{Object: config, From: from, Of: stacks})
	}
	return out
}

func sameProps(a, b gwconfig.TargetGroupProps) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// props returns the settings of a target group.
func (g *grouping) props(u use) gwconfig.TargetGroupProps {
	t := u.group
	out := gwconfig.TargetGroupProps{
		TargetType: new(gwconfig.TargetType(t.Type)), Protocol: new(gwconfig.Protocol(t.Protocol)), ProtocolVersion: new(gwconfig.ProtocolVersion(t.ProtocolVersion)),
		HealthCheckConfig: g.check(u), TargetGroupAttributes: attributes(t.Attributes), NodeSelector: t.Binding.NodeSelector,
		TargetControlPort: t.ControlPort, Tags: g.tagsOf(t.Tags, originOf(u.member)),
	}
	if t.AddressType == model.IPv6 {
		out.IPAddressType = new(gwconfig.TargetGroupIPAddressType(t.AddressType))
	}
	if t.Binding.MultiCluster {
		out.EnableMultiCluster = new(true)
	}
	return out
}

func (g *grouping) check(u use) *gwconfig.HealthCheckConfiguration {
	c := u.group.HealthCheck
	port := &c.Port
	if g.ownCheckPort(u) {
		port = nil
	}
	if g.standsForNodePort(u) {
		g.note(Lost, u.member, u.group.Origin.Field, fmt.Sprintf("the health check of Service %s/%s goes to a node port that the manifests do not have", u.service.Namespace, u.service.Name),
			"translate from the cluster, or set nodePort")
	}
	return checkOf(c, port)
}

// checkOf returns a health check as a configuration, with all settings but a port that is nil.
func checkOf(c model.HealthCheck, port *string) *gwconfig.HealthCheckConfiguration {
	out := &gwconfig.HealthCheckConfiguration{
		HealthCheckProtocol: new(gwconfig.HealthCheckProtocol(c.Protocol)), HealthCheckPath: notEmpty(c.Path), HealthCheckPort: port,
		HealthCheckInterval: &c.IntervalSeconds, HealthCheckTimeout: &c.TimeoutSeconds,
		HealthyThresholdCount: &c.HealthyThreshold, UnhealthyThresholdCount: &c.UnhealthyThreshold,
	}
	if codes := notEmpty(c.HTTPCodes); codes != nil {
		out.Matcher = &gwconfig.HealthCheckMatcher{HTTPCode: codes}
	} else if codes := notEmpty(c.GRPCCodes); codes != nil {
		out.Matcher = &gwconfig.HealthCheckMatcher{GRPCCode: codes}
	}
	return out
}

// standsForNodePort reports whether the port of the health check is a node port that was made up.
func (g *grouping) standsForNodePort(u use) bool {
	svc, ok := cluster.Get[*corev1.Service](g.view, cluster.KindService, u.service.Namespace, u.service.Name)
	return ok && u.group.Type == model.InstanceTargets && slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.NodePort <= lastNodePort && u.group.HealthCheck.Port == strconv.Itoa(int(p.NodePort))
	})
}

// ownCheckPort reports whether the port of the health check is the one that Kubernetes gives a Service for it. It may
// change with the Service, and is not written.
func (g *grouping) ownCheckPort(u use) bool {
	svc, ok := cluster.Get[*corev1.Service](g.view, cluster.KindService, u.service.Namespace, u.service.Name)
	return ok && svc.Spec.HealthCheckNodePort != 0 && u.group.HealthCheck.Port == strconv.Itoa(int(svc.Spec.HealthCheckNodePort))
}
