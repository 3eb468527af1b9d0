package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// target is a port of a Service to which a route forwards.
type target struct {
	route finding.Ref
	svc   *corev1.Service
	port  *corev1.ServicePort
	// protocol is the protocol of the target group behind a network load balancer if the configuration sets none.
	// protocolFixed reports whether the configuration cannot set another protocol.
	protocol      string
	protocolFixed bool
	// variant is the protocol of a second target group of the route for the same backend; "" for the first one.
	variant string
	// isHTTPS reports whether the listener has protocol HTTPS. Targets with HTTP/2 or gRPC require it.
	isHTTPS bool
	at      finding.Origin
}

// backendKey identifies a backend of a route.
type backendKey struct{ route, backend finding.Ref }

// targetGroupBuilder builds the target groups of backends.
type targetGroupBuilder struct{ *translation }

// requestTargetGroup returns the handle of a target group, for use in actions. ok is false if the configuration of the
// target group is not valid. A route has one target group for each backend and target port, and further ones for listener
// ports that cannot use this target group (see needsOwnTargetGroup). The first use of a target group determines its
// protocol.
func (t targetGroupBuilder) requestTargetGroup(a target) (handle string, ok bool) {
	key := assemble.TargetGroupKey{Owner: a.route, Service: a.svc.Namespace + "/" + a.svc.Name, Port: assemble.TargetPort(a.port), Variant: a.variant}
	return t.targetGroups.Request(key, func() *model.TargetGroup { return t.buildTargetGroup(a) })
}

// targetConfiguration returns the configuration of target groups for a Service that is a backend of a route. It adds a
// finding for each TargetGroupConfiguration that has no effect because the Service has an older one.
func (t targetGroupBuilder) targetConfiguration(a target) gatewayconfig.TargetGroupProperties {
	key := backendKey{a.route, cluster.RefOf(a.svc)}
	out, known := t.targetConfigs[key]
	if !known {
		out = t.config.TargetGroupPropertiesForService(t.view, a.route, a.svc.Namespace, a.svc.Name)
		t.targetConfigs[key] = out
		for _, other := range out.Ignored {
			t.Found.Add(finding.Finding{
				Object: a.route, Field: configurationField(other), Reason: finding.TargetsConfiguredTwice,
				Message: fmt.Sprintf("Service %s/%s has the older TargetGroupConfiguration %q; this TargetGroupConfiguration has no effect", a.svc.Namespace, a.svc.Name, out.Configuration.Name),
				Fix:     "delete one of the two TargetGroupConfigurations",
			})
		}
	}
	return out
}

func (t targetGroupBuilder) buildTargetGroup(a target) *model.TargetGroup {
	of := t.targetConfiguration(a)
	at := finding.Origin{Object: a.route, Field: a.at.Field}
	if of.Configuration != nil {
		at.Field = configurationField(of.Configuration)
	}
	req, found := t.targetGroupRequest(a, of, at)
	if len(found) > 0 {
		t.Found.Add(found...)
		return nil
	}
	g, found := assemble.NewTargetGroup(req)
	if len(found) > 0 {
		t.Found.Add(found...)
		return nil
	}
	to := assemble.TargetPort(a.port)
	identifier := to.String()
	backend := cluster.RefOf(a.svc)
	g.ID = naming.GatewayTargetGroupID(t.ref, a.route, backend, identifier)
	name := naming.GatewayTargetGroup{
		Cluster: t.opt.Cluster, Gateway: t.ref, Route: a.route, Backend: backend, Port: identifier,
		Type: g.Type, Protocol: g.Protocol, Version: g.ProtocolVersion, ControlPort: g.ControlPort,
	}
	if g.Type == model.InstanceTargets {
		name.Port = fmt.Sprint(g.Port)
	}
	g.Name = name.Name()
	t.setNameAndTags(&g.TargetGroup, of, at)
	g.Members = []finding.Ref{a.route}
	labels, annotations := t.bindingMetadata()
	r := assemble.BindingRequest{
		TargetGroup: g, Namespace: a.svc.Namespace, Service: a.svc.Name, Port: intstr.FromInt32(a.port.Port), NodeSelector: of.NodeSelector,
		MultiCluster: of.EnableMultiCluster != nil && *of.EnableMultiCluster, Peer: t.Peer, OpenAllPorts: t.opt.UnrestrictedRules, RulePerPort: true,
		Labels: labels, Annotations: annotations,
	}
	if t.RulesByAddress {
		r.Clients = t.clients(g)
	}
	g.Binding = assemble.NewBinding(r)
	return &g.TargetGroup
}

// setNameAndTags sets the tags of a target group, and its name if the configuration has one.
func (t *translation) setNameAndTags(g *model.TargetGroup, of gatewayconfig.TargetGroupProperties, at finding.Origin) {
	if of.TargetGroupName != nil && *of.TargetGroupName != "" {
		g.Name, g.Named = *of.TargetGroupName, true
	}
	g.Tags = assemble.ResourceTags(&t.Builder, t.member, valueOr(of.Tags, nil), finding.Origin{Object: t.ref, Field: at.Field}, "the target group")
}

// targetGroupRequest converts the configuration of a target group to the input of assemble.NewTargetGroup. It returns
// findings about values that are not valid.
func (t targetGroupBuilder) targetGroupRequest(a target, of gatewayconfig.TargetGroupProperties, at finding.Origin) (assemble.TargetGroupRequest, finding.List) {
	var found finding.List
	if n := max(len(of.TargetGroupAttributes), selectorSize(of.NodeSelector), len(valueOr(of.Tags, nil))); n > settings.MaxRepeatedEntries {
		found.Add(finding.Finding{
			Object: a.route, Field: at.Field, Reason: finding.ParametersInvalid, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("%d entries in targetGroupAttributes, nodeSelector or tags exceed the limit of %d entries; what exists in AWS stays unchanged", n, settings.MaxRepeatedEntries),
			Fix:     "name fewer attributes, labels or tags in the TargetGroupConfiguration",
		})
		return assemble.TargetGroupRequest{}, found
	}
	set := settings.TargetGroup{
		Type:       optionalSetting(of.TargetType, at, func(v gwconfig.TargetType) model.TargetType { return model.TargetType(v) }),
		Attributes: settings.Opt[map[string]string]{Value: gatewayconfig.AttributeMap(of.TargetGroupAttributes), Set: len(of.TargetGroupAttributes) > 0, Origin: at},
	}
	t.Found.Add(settings.TargetGroupAttributeKeys.FindProbableMistakes(set.Attributes.Value, a.route, at.Field, finding.ParametersInvalid)...)
	out := assemble.TargetGroupRequest{
		Kind: t.ID.Kind, Service: a.svc, Port: intstr.FromInt32(a.port.Port), DefaultType: t.opt.DefaultTargetType,
		LoadBalancerAddressType: t.Stack.LoadBalancer.AddressType, Origin: a.at,
		AddressType: optionalSetting(of.IPAddressType, at, func(v gwconfig.TargetGroupIPAddressType) model.AddressType { return model.AddressType(v) }),
	}
	protocols := []string{"HTTP", "HTTPS"}
	protocol := a.protocol
	if t.Type == model.Network {
		protocols = []string{"TCP", "TLS", "UDP", "TCP_UDP"}
	}
	if of.Protocol != nil && !a.protocolFixed {
		protocol = string(*of.Protocol)
		if !slices.Contains(protocols, protocol) {
			found.Add(finding.Finding{
				Object: a.route, Field: at.Field, Reason: finding.ParametersInvalid, Blocks: finding.BlocksRule,
				Message: fmt.Sprintf("protocol %q is not one of %s, which target groups of this load balancer have; what exists in AWS stays unchanged", protocol, strings.Join(protocols, ", ")),
				Fix:     "correct protocol in the TargetGroupConfiguration",
			})
		}
	}
	version := ""
	if t.Type == model.Network {
		out.Protocol = protocol
	} else {
		version = t.protocolVersion(a, of)
		set.ProtocolVersion = settings.NewOpt(version, at)
		if protocol != "" {
			set.Protocol = settings.NewOpt(protocol, at)
		}
	}
	if p := of.TargetControlPort; p != nil {
		out.ControlPort = settings.NewOpt(*p, at)
		if t.Type == model.Network {
			found.Add(finding.Finding{
				Object: a.route, Field: at.Field, Reason: finding.ParametersInvalid, Blocks: finding.BlocksRule,
				Message: fmt.Sprintf("targetControlPort \"%d\" is for application load balancers only; what exists in AWS stays unchanged", *p), Fix: "remove targetControlPort from the TargetGroupConfiguration",
			})
		}
	}
	setHealthSettings(&set, of.HealthCheckConfig, version == "GRPC", at)
	out.Settings = set
	return out, found
}

// selectorSize returns the number of labels and values in a selector, which each TargetGroupBinding repeats.
func selectorSize(s *metav1.LabelSelector) int {
	if s == nil {
		return 0
	}
	n := len(s.MatchLabels)
	for _, e := range s.MatchExpressions {
		n += max(1, len(e.Values))
	}
	return n
}

// protocolVersion returns the HTTP version between an application load balancer and the targets. It is HTTP1 unless the
// listener is HTTPS.
func (t targetGroupBuilder) protocolVersion(a target, of gatewayconfig.TargetGroupProperties) string {
	switch {
	case !a.isHTTPS:
		return "HTTP1"
	case of.ProtocolVersion != nil:
		return string(*of.ProtocolVersion)
	case a.route.Kind == "GRPCRoute":
		return "GRPC"
	case a.port.AppProtocol != nil && *a.port.AppProtocol == "kubernetes.io/h2c":
		return "HTTP2"
	}
	return "HTTP1"
}

func setHealthSettings(set *settings.TargetGroup, c *gwconfig.HealthCheckConfiguration, grpc bool, at finding.Origin) {
	if c == nil {
		return
	}
	same := func(v int32) int32 { return v }
	text := func(v string) string { return v }
	set.HealthPort = optionalSetting(c.HealthCheckPort, at, text)
	set.HealthProtocol = optionalSetting(c.HealthCheckProtocol, at, func(v gwconfig.HealthCheckProtocol) string { return string(v) })
	set.HealthPath = optionalSetting(c.HealthCheckPath, at, text)
	set.HealthInterval = optionalSetting(c.HealthCheckInterval, at, same)
	set.HealthTimeout = optionalSetting(c.HealthCheckTimeout, at, same)
	set.HealthyThreshold = optionalSetting(c.HealthyThresholdCount, at, same)
	set.UnhealthyThreshold = optionalSetting(c.UnhealthyThresholdCount, at, same)
	if m := c.Matcher; m != nil {
		codes := m.HTTPCode
		if grpc {
			codes = m.GRPCCode
		}
		set.SuccessCodes = optionalSetting(codes, at, text)
	}
}

func optionalSetting[T, S any](v *S, at finding.Origin, as func(S) T) settings.Opt[T] {
	if v == nil {
		return settings.Opt[T]{}
	}
	return settings.NewOpt(as(*v), at)
}

// bindingMetadata returns the labels and annotations that spec.infrastructure of the Gateway sets on TargetGroupBindings.
// Keys by which controllers recognize their bindings are left out, because another controller would change the bindings.
func (t targetGroupBuilder) bindingMetadata() (labels, annotations map[string]string) {
	of := t.gw.Spec.Infrastructure
	if of == nil {
		return nil, nil
	}
	labels, annotations = map[string]string{}, map[string]string{}
	for k, v := range of.Labels {
		labels[string(k)] = string(v)
	}
	for k, v := range of.Annotations {
		annotations[string(k)] = string(v)
	}
	for _, m := range []map[string]string{labels, annotations} {
		maps.DeleteFunc(m, func(k, _ string) bool {
			return strings.HasPrefix(k, "elbv2.k8s.aws/") || slices.ContainsFunc(model.Kinds, func(kind model.Kind) bool { return strings.HasPrefix(k, kind.TagPrefix()+"/stack") })
		})
	}
	return labels, annotations
}
