package settings

import (
	"net/netip"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The values of the annotation that chooses the controller of a Service.
const (
	typeNLBIP    = "nlb-ip"
	typeExternal = "external"
)

// networkActionsKey is the key of the annotations for weighted target groups of a Service.
const networkActionsKey = "actions.<protocol-port>"

var serviceTable = newTable(ServicePrefix, serviceRows(), serviceLoadBalancerRows(), serviceNetworkRows(), serviceSecurityRows(),
	serviceListenerRows(), serviceTargetRows(), serviceHealthRows(), inTreeRows())

func serviceRows() []row[LoadBalancerService] {
	const group = "Controller"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-type", Type: "external, nlb-ip", Merge: mergeOwn,
			Doc: "Hands the Service to this controller where spec.loadBalancerClass is not set: external together with aws-load-balancer-nlb-target-type, or nlb-ip for ip targets. Compared exactly."}},
		{Row: Row{Group: group, Key: "fulcrum.dev/load-balancer-group", Type: "string", Merge: mergeOwn,
			Doc: "Puts the ports of the Service on the network load balancer that all Services of the namespace with this name share; with --cross-namespace-load-balancer-groups also NAMESPACE/NAME. See load-balancer-group.md."},
			read: valueReader(String, func(in *LoadBalancerService) *Opt[string] { return &in.Group })},
	}
}

func serviceLoadBalancerRows() []row[LoadBalancerService] {
	const group = "Load balancer"
	return []row[LoadBalancerService]{
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-name", Type: "string", Default: "generated", Merge: mergeOne,
			Doc: "Name of a new load balancer, at most 32 characters. An existing one keeps its name."},
			read: valueReader(maxBytes(32), func(in *LoadBalancerService) *Opt[string] { return &in.Name })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-scheme", Type: "internal, internet-facing", Default: "that of the live load balancer, or --default-load-balancer-scheme", Merge: mergeOne,
			Doc: "Whether the load balancer has public addresses. A change of it makes a new load balancer beside the live one, see replacement.md."},
			read: valueReader(Enum(model.Internal, model.InternetFacing), func(in *LoadBalancerService) *Opt[model.Scheme] { return &in.Scheme })},
		{Row: Row{Group: group, Key: "aws-load-balancer-internal", Type: "bool", Merge: mergeOne,
			Doc: "Deprecated, read where aws-load-balancer-scheme is absent: true means internal, false internet-facing."},
			read: valueReader(parseInternalSwitch, func(in *LoadBalancerService) *Opt[model.Scheme] { return &in.deprecatedScheme })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-ip-address-type", Type: "ipv4, dualstack", Default: "ipv4", Merge: mergeOne,
			Doc: "Address families of the load balancer."},
			read: valueReader(Enum(model.IPv4, model.DualStack), func(in *LoadBalancerService) *Opt[model.AddressType] { return &in.AddressType })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-attributes", Type: "map", Merge: mergeKey,
			Doc: "Attributes of the load balancer; those not named are not changed. While deletion_protection.enabled=true is here, the load balancer is neither deleted nor replaced."},
			read: valueReader(parseNLBAttributes, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.LoadBalancer.Attributes })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-access-log-enabled", Type: "bool", Merge: mergeKey,
			Doc: "Deprecated: true stands for access_logs.s3.enabled=true in aws-load-balancer-attributes, and wins over it; false has no effect."},
			read: valueReader(Bool, func(in *LoadBalancerService) *Opt[bool] { return &in.deprecatedAttributes.accessLogs })},
		{Row: Row{Group: group, Key: "aws-load-balancer-access-log-s3-bucket-name", Type: "string", Merge: mergeKey,
			Doc: "Deprecated, read with aws-load-balancer-access-log-enabled: access_logs.s3.bucket."},
			read: valueReader(String, func(in *LoadBalancerService) *Opt[string] { return &in.deprecatedAttributes.bucket })},
		{Row: Row{Group: group, Key: "aws-load-balancer-access-log-s3-bucket-prefix", Type: "string", Merge: mergeKey,
			Doc: "Deprecated, read with aws-load-balancer-access-log-enabled: access_logs.s3.prefix."},
			read: valueReader(String, func(in *LoadBalancerService) *Opt[string] { return &in.deprecatedAttributes.prefix })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-cross-zone-load-balancing-enabled", Type: "bool", Merge: mergeKey,
			Doc: "Deprecated: stands for load_balancing.cross_zone.enabled in aws-load-balancer-attributes, and wins over it."},
			read: valueReader(Bool, func(in *LoadBalancerService) *Opt[bool] { return &in.deprecatedAttributes.crossZone })},
		{Row: Row{Group: group, Key: "aws-load-balancer-minimum-load-balancer-capacity", Type: "map", Merge: mergeKey,
			Doc: "CapacityUnits=N reserves capacity; 0 ends the reservation."},
			read: valueReader(parseCapacity, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.LoadBalancer.Capacity })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-additional-resource-tags", Type: "map", Merge: mergeKey,
			Doc: "Tags of the AWS resources."},
			read: valueReader(Map, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.Tags })},
	}
}

func serviceNetworkRows() []row[LoadBalancerService] {
	const group = "Subnets and addresses"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-subnets", Type: "list", Default: "those of the live load balancer, or discovery", Merge: mergeOne,
			Doc: "Subnets by id or by Name tag, one in each availability zone. Lists of elastic addresses and source NAT prefixes follow their order."},
			read: valueReader(List, func(in *LoadBalancerService) *Opt[[]string] { return &in.Subnets })},
		{Row: Row{Group: group, Key: "aws-load-balancer-eip-allocations", Type: "list", Merge: mergeOne,
			Doc: "Elastic addresses by allocation id, one for each subnet, in their order. Only with scheme internet-facing, and only when the load balancer is made."},
			read: valueReader(List, func(in *LoadBalancerService) *Opt[[]string] { return &in.ElasticAddresses })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-private-ipv4-addresses", Type: "list", Merge: mergeOne,
			Doc: "IPv4 addresses, one within each subnet, in any order. Only with scheme internal, and only when the load balancer is made."},
			read: valueReader(addressListParser("IPv4", netip.Addr.Is4), func(in *LoadBalancerService) *Opt[[]string] { return &in.PrivateIPv4 })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-ipv6-addresses", Type: "list", Merge: mergeOne,
			Doc: "IPv6 addresses, one within each subnet, in any order. Only with address type dualstack."},
			read: valueReader(addressListParser("IPv6", func(a netip.Addr) bool { return a.Is6() && !a.Is4In6() }), func(in *LoadBalancerService) *Opt[[]string] { return &in.IPv6 })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-enable-prefix-for-ipv6-source-nat", Type: "on, off", Default: "off", Merge: mergeOne,
			Doc: "Source NAT prefixes, which clients of UDP over IPv6 need. Only with address type dualstack."},
			read: valueReader(onOff, func(in *LoadBalancerService) *Opt[string] { return &in.SourceNAT })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-source-nat-ipv6-prefixes", Type: "list", Default: "chosen by AWS", Merge: mergeOne,
			Doc: "Source NAT prefixes, one for each subnet, in their order: an IPv6 range of 80 bits within the subnet, or auto_assigned."},
			read: valueReader(parseSourceNATPrefixes, func(in *LoadBalancerService) *Opt[[]string] { return &in.SourceNATPrefixes })},
	}
}

func serviceSecurityRows() []row[LoadBalancerService] {
	const group = "Security groups"
	return []row[LoadBalancerService]{
		{holdsMember: true, Row: Row{Group: group, Key: "load-balancer-source-ranges", Type: "list", Default: "0.0.0.0/0, ::/0", Merge: mergePort,
			Doc: "Client ranges that the managed security group admits, or without security groups the nodes and pods. Read where spec.loadBalancerSourceRanges is empty."},
			read: valueReader(CIDRs, func(in *LoadBalancerService) *Opt[[]string] { return &in.InboundCIDRs })},
		{Row: Row{Group: group, Key: "aws-load-balancer-security-group-prefix-lists", Type: "list", Merge: mergePort,
			Doc: "Prefix lists that the managed security group admits."},
			read: valueReader(List, func(in *LoadBalancerService) *Opt[[]string] { return &in.PrefixLists })},
		{Row: Row{Group: group, Key: "aws-load-balancer-security-groups", Type: "list", Default: "a managed group", Merge: mergeOne,
			Doc: "Security groups by id or by Name tag, instead of a managed security group."},
			read: valueReader(List, func(in *LoadBalancerService) *Opt[[]string] { return &in.SecurityGroups })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-disable-nlb-sg", Type: "bool", Default: "false", Merge: mergeOne,
			Doc: "Makes a load balancer without security groups. AWS does not allow to add the first one later, or to remove the last one."},
			read: valueReader(Bool, func(in *LoadBalancerService) *Opt[bool] { return &in.NoSecurityGroups })},
		{Row: Row{Group: group, Key: "aws-load-balancer-manage-backend-security-group-rules", Type: "bool", Default: "--enable-manage-backend-security-group-rules, without security groups true", Merge: mergeOne,
			Doc: "Manages the rules on nodes and pods where the load balancer has given security groups (the shared backend security group is attached then) or none. A managed security group always does."},
			read: valueReader(Bool, func(in *LoadBalancerService) *Opt[bool] { return &in.ManageBackendRules })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-inbound-sg-rules-on-private-link-traffic", Type: "on, off", Default: "not managed", Merge: mergeOne,
			Doc: "Whether traffic through AWS PrivateLink obeys the rules of the security groups."},
			read: valueReader(onOff, func(in *LoadBalancerService) *Opt[string] { return &in.PrivateLinkRules })},
		{Row: Row{Group: group, Key: "aws-load-balancer-enable-icmp-for-path-mtu-discovery", Type: "on, off", Default: "off", Merge: mergeOne,
			Doc: "Admits the ICMP messages of path MTU discovery from the client ranges. Anything but on means off."},
			read: valueReader(onOff, func(in *LoadBalancerService) *Opt[string] { return &in.PathMTU })},
	}
}

func serviceListenerRows() []row[LoadBalancerService] {
	const group = "Listeners and TLS"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-ssl-cert", Type: "list", Merge: mergeOwn,
			Doc: "Certificates by ARN, which make TLS listeners of TCP ports; the first is the default."},
			read: valueReader(List, func(in *LoadBalancerService) *Opt[[]string] { return &in.Certificates })},
		{Row: Row{Group: group, Key: "aws-load-balancer-ssl-ports", Type: "list", Default: "all TCP ports", Merge: mergeOwn,
			Doc: "Ports that become TLS listeners, by name or number. Each must be a port of the Service."},
			read: valueReader(List, func(in *LoadBalancerService) *Opt[[]string] { return &in.TLSPorts })},
		{Row: Row{Group: group, Key: "aws-load-balancer-ssl-negotiation-policy", Type: "string", Default: "--default-ssl-policy", Merge: mergeOwn,
			Doc: "TLS policy of TLS listeners."},
			read: valueReader(String, func(in *LoadBalancerService) *Opt[string] { return &in.SSLPolicy })},
		{Row: Row{Group: group, Key: "aws-load-balancer-backend-protocol", Type: "string", Merge: mergeOwn,
			Doc: "ssl: also TLS towards the targets, behind TLS listeners. Any other value has no effect."},
			read: valueReader(String, func(in *LoadBalancerService) *Opt[string] { return &in.BackendProtocol })},
		{Row: Row{Group: group, Key: "aws-load-balancer-alpn-policy", Type: "None, HTTP1Only, HTTP2Only, HTTP2Optional, HTTP2Preferred", Merge: mergeOwn,
			Doc: "Which application protocol TLS listeners negotiate."},
			read: valueReader(Enum("None", "HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred"), func(in *LoadBalancerService) *Opt[string] { return &in.ALPN })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-enable-tcp-udp-listener", Type: "bool", Default: "feature gate EnableTCPUDPListener", Merge: mergeOwn,
			Doc: "Makes one listener of a TCP and a UDP port of the same number."},
			read: valueReader(Bool, func(in *LoadBalancerService) *Opt[bool] { return &in.MergeTCPUDP })},
		{Row: Row{Group: group, Key: "aws-load-balancer-quic-enabled-ports", Type: "list", Merge: mergeOwn,
			Doc: "Ports, by name or number, whose UDP listener becomes one of QUIC, or whose TCP_UDP listener becomes one of TCP_QUIC."},
			read: valueReader(List, func(in *LoadBalancerService) *Opt[[]string] { return &in.QUICPorts })},
		{Row: Row{Group: group, Key: "aws-load-balancer-listener-attributes.<protocol-port>", Type: "map", Merge: mergeKey,
			Doc: "Attributes of a listener, such as aws-load-balancer-listener-attributes.TCP-80. The protocol is that of the listener."},
			read: keyedReader(Map, func(in *LoadBalancerService) *map[string]Opt[map[string]string] { return &in.ListenerAttributes })},
		{Row: Row{Group: group, Key: networkActionsKey, Type: "json", Merge: mergeOwn,
			Doc: "Weighted target groups of a listener, such as actions.TCP-80: a forward to this and other Services."},
			read: keyedReader(ParseNetworkAction, func(in *LoadBalancerService) *map[string]Opt[NetworkForward] { return &in.Actions })},
	}
}

func serviceTargetRows() []row[LoadBalancerService] {
	const group = "Target groups"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-nlb-target-type", Type: "instance, ip", Default: "--default-target-type", Merge: mergeOwn,
			Doc: "Whether nodes (by node port) or pods are registered."},
			read: valueReader(Enum(model.InstanceTargets, model.IPTargets), func(in *LoadBalancerService) *Opt[model.TargetType] { return &in.Target.Type })},
		{Row: Row{Group: group, Key: "aws-load-balancer-target-node-labels", Type: "map", Merge: mergeOwn,
			Doc: "Labels of the nodes to register, with instance targets."},
			read: valueReader(Map, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.Target.NodeLabels })},
		{Row: Row{Group: group, Key: "aws-load-balancer-multi-cluster-target-group", Type: "bool", Default: "false", Merge: mergeOwn,
			Doc: "Keeps targets that other clusters registered."},
			read: valueReader(Bool, func(in *LoadBalancerService) *Opt[bool] { return &in.Target.MultiCluster })},
		{Row: Row{Group: group, Key: "aws-load-balancer-target-group-attributes", Type: "map", Merge: mergeOwn,
			Doc: "Attributes of the target groups; those not named are not changed."},
			read: valueReader(parseTargetGroupAttributes, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.Target.Attributes })},
		{Row: Row{Group: group, Key: "aws-load-balancer-target-group-attributes.<port>", Type: "map", Merge: mergeOwn,
			Doc: "Attributes of the target group of one port of the Service, by its number. An empty value does not count."},
			read: keyedReader(parsePortAttributes, func(in *LoadBalancerService) *map[string]Opt[map[string]string] { return &in.Target.PortAttributes })},
		{Row: Row{Group: group, Key: "aws-load-balancer-proxy-protocol", Type: "*", Merge: mergeOwn,
			Doc: "Proxy protocol v2 towards all targets, before all that other annotations say."},
			read: valueReader(parseProxyProtocol, func(in *LoadBalancerService) *Opt[bool] { return &in.Target.ProxyProtocol })},
		{Row: Row{Group: group, Key: "aws-load-balancer-proxy-protocol-per-target-group", Type: "list", Merge: mergeOwn,
			Doc: "Port numbers of the Service whose targets get proxy protocol v2; all others do not."},
			read: valueReader(parsePortNumbers, func(in *LoadBalancerService) *Opt[[]int32] { return &in.Target.ProxyProtocolPorts })},
	}
}

func serviceHealthRows() []row[LoadBalancerService] {
	const group = "Health checks"
	const local = " With instance targets and externalTrafficPolicy Local: "
	text := func(at func(*TargetGroup) *Opt[string]) func(*LoadBalancerService) *Opt[string] {
		return func(in *LoadBalancerService) *Opt[string] { return at(&in.Target.TargetGroup) }
	}
	num := func(at func(*TargetGroup) *Opt[int32]) func(*LoadBalancerService) *Opt[int32] {
		return func(in *LoadBalancerService) *Opt[int32] { return at(&in.Target.TargetGroup) }
	}
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-protocol", Type: "TCP, HTTP, HTTPS", Default: "TCP", Merge: mergeOwn,
			Doc: "Protocol of the check, in upper or lower case." + local + "HTTP."},
			read: valueReader(parseHealthProtocol, text(func(t *TargetGroup) *Opt[string] { return &t.HealthProtocol }))},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-port", Type: "traffic-port, int or port name", Default: "traffic-port", Merge: mergeOwn,
			Doc: "Port of the check; a name is looked up on the Service." + local + "spec.healthCheckNodePort."},
			read: valueReader(String, text(func(t *TargetGroup) *Opt[string] { return &t.HealthPort }))},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-path", Type: "string", Default: "/", Merge: mergeOwn,
			Doc: "Path of the check, not with TCP." + local + "/healthz."},
			read: valueReader(String, text(func(t *TargetGroup) *Opt[string] { return &t.HealthPath }))},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-success-codes", Type: "string", Default: "200-399", Merge: mergeOwn,
			Doc: "Codes that mean success, not with TCP. Ignored without feature gate NLBHealthCheckAdvancedConfig."},
			read: valueReader(String, text(func(t *TargetGroup) *Opt[string] { return &t.SuccessCodes }))},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-healthy-threshold", Type: "int", Default: "3", Merge: mergeOwn,
			Doc: "Checks that must succeed in a row." + local + "2."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.HealthyThreshold }))},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-unhealthy-threshold", Type: "int", Default: "3", Merge: mergeOwn,
			Doc: "Checks that must fail in a row." + local + "2."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.UnhealthyThreshold }))},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-timeout", Type: "int", Default: "10", Merge: mergeOwn,
			Doc: "Seconds after which a check has failed." + local + "6. Ignored without feature gate NLBHealthCheckAdvancedConfig."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.HealthTimeout }))},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-interval", Type: "int", Default: "10", Merge: mergeOwn,
			Doc: "Seconds between checks."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.HealthInterval }))},
	}
}

// inTreeRows returns the annotations that only the in-tree controller of Kubernetes reads.
func inTreeRows() []row[LoadBalancerService] {
	const group = "Ignored"
	var out []row[LoadBalancerService]
	for _, k := range []string{"extra-security-groups", "connection-draining-enabled", "connection-draining-timeout", "connection-idle-timeout", "access-log-emit-interval"} {
		out = append(out, row[LoadBalancerService]{Row: Row{Group: group, Key: "aws-load-balancer-" + k, Type: "string", Merge: mergeOwn, Ignored: true,
			Doc: "Only the in-tree controller of Kubernetes reads it, for load balancers of other types."}})
	}
	return out
}
