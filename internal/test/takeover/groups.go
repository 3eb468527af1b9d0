package takeover

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	discoveryv1 "k8s.io/api/discovery/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

func (b *builder) createSecurityGroup(name, description string, tags map[string]string) string {
	b.t.Helper()
	spec := ec2types.TagSpecification{ResourceType: ec2types.ResourceTypeSecurityGroup}
	for _, tag := range b.tags(tags) {
		spec.Tags = append(spec.Tags, ec2types.Tag{Key: tag.Key, Value: tag.Value})
	}
	out, err := b.ec2.CreateSecurityGroup(b.ctx(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(b.resourceName(name)), Description: aws.String(description), VpcId: aws.String(b.site.Seeded.VPC),
		TagSpecifications: []ec2types.TagSpecification{spec},
	})
	return aws.ToString(must(b.t, out, err).GroupId)
}

// createManagedSecurityGroup creates a managed security group. Its rules are recorded as "PROTOCOL FROM-TO SOURCE".
func (b *builder) createManagedSecurityGroup(key string, g securityGroup) {
	b.t.Helper()
	stack, _ := parseResourceKey(key)
	if stack.Kind != model.Ingress {
		g.Name = nameWithHash(g.Name, naming.SecurityGroupNameWithUID(harness.ClusterName, stack, b.ownerUID(stack)))
	}
	id := b.createSecurityGroup(g.Name, g.Description, g.Tags)
	b.ids["sg:"+key] = id
	var permissions []ec2types.IpPermission
	for _, text := range g.Ingress {
		var protocol, source string
		var from, to int32
		if _, err := fmt.Sscanf(strings.Replace(text, "-", " ", 1), "%s %d %d %s", &protocol, &from, &to, &source); err != nil {
			b.t.Fatalf("%q: %v", text, err)
		}
		permissions = append(permissions, b.permission(protocol, from, to, source, ""))
	}
	b.authorize(id, permissions)
}

func (b *builder) authorize(group string, permissions []ec2types.IpPermission) {
	b.t.Helper()
	if len(permissions) == 0 {
		return
	}
	_, err := b.ec2.AuthorizeSecurityGroupIngress(b.ctx(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: permissions})
	must(b.t, 0, err)
}

func (b *builder) permission(protocol string, from, to int32, source, description string) ec2types.IpPermission {
	b.t.Helper()
	if b.variations.hasRuleDescriptions {
		description = strings.TrimSpace("seen by audit " + description)
	}
	p := ec2types.IpPermission{IpProtocol: aws.String(protocol), FromPort: aws.Int32(from), ToPort: aws.Int32(to)}
	reported := aws.String(description)
	switch {
	case strings.HasPrefix(source, "sg:"):
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: aws.String(b.id(source)), Description: reported}}
	case source == "prefix-list":
		p.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: aws.String(b.id(source)), Description: reported}}
	case strings.Contains(source, ":"):
		p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: aws.String(source), Description: reported}}
	default:
		p.IpRanges = []ec2types.IpRange{{CidrIp: aws.String(source), Description: reported}}
	}
	return p
}

// allowNodePorts allows the backend security group to reach the nodes, for each protocol from the lowest to the highest port
// of all TargetGroupBindings. It also adds the recorded permissions of CIDRs.
func (b *builder) allowNodePorts() {
	b.t.Helper()
	var permissions []ec2types.IpPermission
	for _, protocol := range slices.Sorted(maps.Keys(b.nodePortRanges)) {
		r := b.nodePortRanges[protocol]
		permissions = append(permissions, b.permission(protocol, r.from, r.to, "sg:backend", "elbv2.k8s.aws/targetGroupBinding=shared"))
	}
	permissions = append(permissions, b.cidrPermissions...)
	if b.variations.hasRuleDescriptions {
		permissions = append(permissions, b.permission("tcp", 22, 22, "192.0.2.0/24", ""))
	}
	b.authorize(b.site.Seeded.NodeSG, permissions)
}

// extendRange adds a port to the range of node ports of a protocol.
func (b *builder) extendRange(protocol string, port int32) {
	r, ok := b.nodePortRanges[protocol]
	if !ok {
		r = portRange{port, port}
	}
	b.nodePortRanges[protocol] = portRange{min(r.from, port), max(r.to, port)}
}

func (b *builder) createTargetGroup(key string, g targetGroup, bound binding) {
	b.t.Helper()
	if b.variations.hasOtherNames {
		b.nameCount++
		g.Name = strings.Replace(g.Name, "#", fmt.Sprintf("%010d", b.nameCount), 1)
	}
	in := &elb.CreateTargetGroupInput{
		Protocol: elbtypes.ProtocolEnum(g.Protocol), TargetType: elbtypes.TargetTypeEnum(g.TargetType), IpAddressType: elbtypes.TargetGroupIpAddressTypeEnum(g.IpAddressType),
		VpcId: aws.String(b.site.Seeded.VPC), HealthCheckEnabled: g.HealthCheckEnabled, HealthCheckPath: g.HealthCheckPath,
		HealthCheckPort: aws.String(g.HealthCheckPort), HealthCheckProtocol: elbtypes.ProtocolEnum(g.HealthCheckProtocol),
		HealthCheckIntervalSeconds: g.HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds: g.HealthCheckTimeoutSeconds,
		HealthyThresholdCount: g.HealthyThresholdCount, UnhealthyThresholdCount: g.UnhealthyThresholdCount, Matcher: g.Matcher, Tags: b.tags(g.Tags),
	}
	if g.ProtocolVersion != "" {
		in.ProtocolVersion = aws.String(g.ProtocolVersion)
	}
	port := b.targetGroupPort(g, bound)
	if g.HealthCheckPort == "nodeport" {
		in.HealthCheckPort = aws.String(fmt.Sprint(b.service(bound.namespace, bound.Spec.ServiceRef.Name).Spec.HealthCheckNodePort))
	}
	in.Port = aws.Int32(port)
	in.Name = aws.String(b.resourceName(b.targetGroupName(key, g, bound, port)))
	out, err := b.elb.CreateTargetGroup(b.ctx(), in)
	arn := must(b.t, out, err).TargetGroups[0].TargetGroupArn
	b.ids["tg:"+key] = *arn
	g.Attributes = b.withExtraAttribute(g.Attributes, "deregistration_delay.timeout_seconds", "77", g.TargetType != "alb")
	if len(g.Attributes) > 0 {
		in := &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: arn}
		for _, k := range slices.Sorted(maps.Keys(g.Attributes)) {
			in.Attributes = append(in.Attributes, elbtypes.TargetGroupAttribute{Key: aws.String(k), Value: aws.String(g.Attributes[k])})
		}
		_, err := b.elb.ModifyTargetGroupAttributes(b.ctx(), in)
		must(b.t, 0, err)
	}
}

func (b *builder) targetGroupPort(g targetGroup, bound binding) int32 {
	b.t.Helper()
	if g.Port == "nodeport" {
		return b.servicePort(bound).NodePort
	}
	n, err := strconv.ParseInt(g.Port, 10, 32)
	return int32(must(b.t, n, err))
}

// targetGroupName returns the recorded name of a target group. If the recorded name ends with "#", it returns the generated
// name with its hash.
func (b *builder) targetGroupName(key string, g targetGroup, bound binding, port int32) string {
	b.t.Helper()
	prefix, generated := strings.CutSuffix(g.Name, "#")
	if !generated {
		return g.Name
	}
	stack, id := parseResourceKey(key)
	ns, rest, _ := strings.Cut(id, "/")
	ref := bound.Spec.ServiceRef
	if stack.Kind == model.Service {
		n := naming.ServiceTargetGroup{
			Cluster: harness.ClusterName, Backend: finding.Ref{Kind: "Service", Namespace: ns, Name: ref.Name}, BackendUID: string(b.service(ns, ref.Name).UID),
			Port: port, ServicePort: ref.Port.IntVal, Type: model.TargetType(g.TargetType), Protocol: g.Protocol,
			HealthProtocol: g.HealthCheckProtocol, HealthInterval: *g.HealthCheckIntervalSeconds,
		}
		if ref.Name != stack.Name {
			n.BaseUID = string(b.service(stack.Namespace, stack.Name).UID)
		}
		return n.Name()
	}
	if stack.Kind != model.Ingress {
		return naming.GatewayTargetGroup{
			Cluster: harness.ClusterName, Gateway: finding.Ref{Kind: "Gateway", Namespace: stack.Namespace, Name: stack.Name}, Route: b.routeOf(id),
			Backend: finding.Ref{Kind: "Service", Namespace: bound.namespace, Name: ref.Name}, Port: fmt.Sprint(port), Type: model.TargetType(g.TargetType),
			Protocol: g.Protocol, Version: g.ProtocolVersion,
		}.Name()
	}
	ingress := strings.TrimSuffix(rest, "-"+ref.Name+":"+ref.Port.String())
	name := naming.IngressTargetGroup{
		Cluster: harness.ClusterName, Stack: stack, Ingress: finding.Ref{Kind: "Ingress", Namespace: ns, Name: ingress},
		Service: finding.Ref{Kind: "Service", Namespace: ns, Name: ref.Name}, ServiceUID: string(b.service(ns, ref.Name).UID),
		ServicePort: ref.Port.String(), Port: port, Type: model.TargetType(g.TargetType), Protocol: g.Protocol, Version: g.ProtocolVersion,
	}.Name()
	if !strings.HasPrefix(name, prefix) {
		b.t.Fatalf("%s: the name %s and the recorded name %s have different prefixes", key, name, g.Name)
	}
	return name
}

// routeOf returns the route whose kind and name are in the resource ID of a target group.
func (b *builder) routeOf(id string) finding.Ref {
	b.t.Helper()
	parts := strings.Split(id, ":")
	kind, _, _ := strings.Cut(parts[2], "-")
	for _, obj := range b.site.Objects.All(cluster.Kind(kind)) {
		if obj.GetNamespace()+"-"+obj.GetName() == parts[1] {
			return finding.Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		}
	}
	b.t.Fatalf("there is no route of target group %s", id)
	return finding.Ref{}
}

// registerTargets registers the targets of a target group: a load balancer, or the endpoints of the Service. It fails the
// test if the number of endpoints differs from the number of recorded targets.
func (b *builder) registerTargets(key string, g targetGroup, bound binding) {
	b.t.Helper()
	in := &elb.RegisterTargetsInput{TargetGroupArn: aws.String(b.id("tg:" + key))}
	if lb, ok := strings.CutPrefix(strings.Join(g.Targets, ""), "lb:"); ok {
		at := strings.LastIndex(strings.TrimSuffix(lb, ":"), ":")
		in.Targets = []elbtypes.TargetDescription{{Id: aws.String(b.id("lb:" + lb[:at]))}}
	} else {
		for _, e := range b.endpoints(bound) {
			in.Targets = append(in.Targets, elbtypes.TargetDescription{Id: aws.String(e.id), Port: aws.Int32(e.port)})
		}
		if len(in.Targets) != len(g.Targets) {
			b.t.Fatalf("%s: %d targets are recorded, the cluster has %d endpoints", key, len(g.Targets), len(in.Targets))
		}
	}
	if len(in.Targets) == 0 {
		return
	}
	_, err := b.elb.RegisterTargets(b.ctx(), in)
	must(b.t, 0, err)
}

// endpoint is a pod or node as a target.
type endpoint struct {
	id            string
	port          int32
	createdMillis int64 // creation time in milliseconds since 1970
}

// endpoints returns all nodes for target type "instance", or the pods in the EndpointSlices of the Service for type "ip".
func (b *builder) endpoints(bound binding) (out []endpoint) {
	b.t.Helper()
	port := b.servicePort(bound)
	if *bound.Spec.TargetType == elbv2.TargetTypeInstance {
		for i, n := range b.nodes {
			obj, err := b.site.Objects.Get(cluster.Ref{Kind: cluster.KindNode, Name: fmt.Sprintf("node-%d", i)})
			out = append(out, endpoint{n.ID, port.NodePort, must(b.t, obj, err).GetCreationTimestamp().UnixMilli()})
		}
		return out
	}
	for _, obj := range b.site.Objects.All(cluster.KindEndpointSlice) {
		s, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok || s.Namespace != bound.namespace || s.Labels[discoveryv1.LabelServiceName] != bound.Spec.ServiceRef.Name {
			continue
		}
		for _, p := range s.Ports {
			if p.Name == nil || *p.Name != port.Name {
				continue
			}
			for _, e := range s.Endpoints {
				pod, err := b.site.Objects.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: s.Namespace, Name: e.TargetRef.Name})
				out = append(out, endpoint{e.Addresses[0], *p.Port, must(b.t, pod, err).GetCreationTimestamp().UnixMilli()})
			}
		}
	}
	return out
}
