package settings

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// typeAnnotation is the annotation of a Service that selects a controller.
const typeAnnotation = ServicePrefix + "aws-load-balancer-type"

// Values of typeAnnotation that select this controller.
const (
	typeNLBIP    = "nlb-ip"
	typeExternal = "external"
)

// networkActionsKey is the key of the annotations for weighted target groups of a Service.
const networkActionsKey = "actions.<protocol-port>"

var serviceTable = newAnnotationTable(ServicePrefix, serviceControllerRows(), serviceLoadBalancerRows(), serviceNetworkRows(), serviceSecurityRows(),
	serviceListenerRows(), serviceTargetRows(), serviceHealthRows(), inTreeRows())

func serviceControllerRows() []row[LoadBalancerService] {
	const group = "Controller"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-type", Type: "external, nlb-ip", Merge: mergeOwn,
			Doc: "Selects this controller for a Service without spec.loadBalancerClass: external together with aws-load-balancer-nlb-target-type, or nlb-ip for ip targets. Values are case-sensitive."}},
		{Row: Row{Group: group, Key: "fulcrum.dev/load-balancer-group", Type: "string", Merge: mergeOwn,
			Doc: "Name of the load balancer group to join: all Services of the namespace with the same name share one network load balancer. NAMESPACE/NAME joins a group of another namespace, with --cross-namespace-load-balancer-groups. See load-balancer-group.md."}},
	}
}

func serviceLoadBalancerRows() []row[LoadBalancerService] {
	const group = "Load balancer"
	return []row[LoadBalancerService]{
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-name", Type: "string", Default: "generated", Merge: mergeOne,
			Doc: "Name of a new load balancer, at most 32 characters. An existing load balancer keeps its name."},
			read: valueReader(maxBytesParser(32), func(in *LoadBalancerService) *Opt[string] { return &in.Name })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-scheme", Type: "internal, internet-facing", Default: "scheme of the existing load balancer, or --default-load-balancer-scheme", Merge: mergeOne,
			Doc: "Whether the load balancer has public addresses. A change of the scheme replaces the load balancer, see replacement.md."},
			read: valueReader(EnumParser(model.Internal, model.InternetFacing), func(in *LoadBalancerService) *Opt[model.Scheme] { return &in.Scheme })},
		{Row: Row{Group: group, Key: "aws-load-balancer-internal", Type: "bool", Merge: mergeOne,
			Doc: "Deprecated; read only if aws-load-balancer-scheme is not set. true means internal, false means internet-facing."},
			read: valueReader(parseInternalScheme, func(in *LoadBalancerService) *Opt[model.Scheme] { return &in.deprecatedScheme })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-ip-address-type", Type: "ipv4, dualstack", Default: "ipv4", Merge: mergeOne,
			Doc: "Address families of the load balancer."},
			read: valueReader(EnumParser(model.IPv4, model.DualStack), func(in *LoadBalancerService) *Opt[model.AddressType] { return &in.AddressType })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-attributes", Type: "map", Merge: mergeKey,
			Doc: "Attributes of the load balancer; other attributes are not changed. With deletion_protection.enabled=true the load balancer is neither deleted nor replaced."},
			read: valueReader(parseNLBAttributes, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.LoadBalancer.Attributes })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-access-log-enabled", Type: "bool", Merge: mergeKey,
			Doc: "Deprecated. true sets the attribute access_logs.s3.enabled=true and overrides aws-load-balancer-attributes; false has no effect."},
			read: valueReader(ParseBool, func(in *LoadBalancerService) *Opt[bool] { return &in.deprecatedAttributes.accessLogs })},
		{Row: Row{Group: group, Key: "aws-load-balancer-access-log-s3-bucket-name", Type: "string", Merge: mergeKey,
			Doc: "Deprecated. With aws-load-balancer-access-log-enabled it sets the attribute access_logs.s3.bucket."},
			read: valueReader(ParseString, func(in *LoadBalancerService) *Opt[string] { return &in.deprecatedAttributes.bucket })},
		{Row: Row{Group: group, Key: "aws-load-balancer-access-log-s3-bucket-prefix", Type: "string", Merge: mergeKey,
			Doc: "Deprecated. With aws-load-balancer-access-log-enabled it sets the attribute access_logs.s3.prefix."},
			read: valueReader(ParseString, func(in *LoadBalancerService) *Opt[string] { return &in.deprecatedAttributes.prefix })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-cross-zone-load-balancing-enabled", Type: "bool", Merge: mergeKey,
			Doc: "Deprecated. Sets the attribute load_balancing.cross_zone.enabled and overrides aws-load-balancer-attributes."},
			read: valueReader(ParseBool, func(in *LoadBalancerService) *Opt[bool] { return &in.deprecatedAttributes.crossZone })},
		{Row: Row{Group: group, Key: "aws-load-balancer-minimum-load-balancer-capacity", Type: "map", Merge: mergeKey,
			Doc: "Minimum capacity of the load balancer: CapacityUnits=N reserves N units, CapacityUnits=0 ends the reservation."},
			read: valueReader(parseCapacity, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.LoadBalancer.Capacity })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-additional-resource-tags", Type: "map", Merge: mergeKey,
			Doc: "Tags of the AWS resources."},
			read: valueReader(ParseMap, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.Tags })},
	}
}

func serviceNetworkRows() []row[LoadBalancerService] {
	const group = "Subnets and addresses"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-subnets", Type: "list", Default: "subnets of the existing load balancer, or discovery", Merge: mergeOne,
			Doc: "Subnets, by ID or Name tag, one in each availability zone. Lists of Elastic IP addresses and source NAT prefixes have the same order."},
			read: valueReader(ParseList, func(in *LoadBalancerService) *Opt[[]string] { return &in.Subnets })},
		{Row: Row{Group: group, Key: "aws-load-balancer-eip-allocations", Type: "list", Merge: mergeOne,
			Doc: "Elastic IP addresses by allocation ID, one for each subnet, in the order of the subnets. Only with scheme internet-facing, and only when the load balancer is created."},
			read: valueReader(ParseList, func(in *LoadBalancerService) *Opt[[]string] { return &in.ElasticAddresses })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-private-ipv4-addresses", Type: "list", Merge: mergeOne,
			Doc: "IPv4 addresses, one within each subnet, in any order. Only with scheme internal, and only when the load balancer is created."},
			read: valueReader(listParser(ParseIPv4), func(in *LoadBalancerService) *Opt[[]string] { return &in.PrivateIPv4 })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-ipv6-addresses", Type: "list", Merge: mergeOne,
			Doc: "IPv6 addresses, one within each subnet, in any order. Only with address type dualstack."},
			read: valueReader(listParser(ParseIPv6), func(in *LoadBalancerService) *Opt[[]string] { return &in.IPv6 })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-enable-prefix-for-ipv6-source-nat", Type: "on, off", Default: "off", Merge: mergeOne,
			Doc: "Whether the load balancer has source NAT prefixes, which UDP clients with IPv6 addresses need. Only with address type dualstack."},
			read: valueReader(parseOnOff, func(in *LoadBalancerService) *Opt[string] { return &in.SourceNAT })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-source-nat-ipv6-prefixes", Type: "list", Default: "chosen by AWS", Merge: mergeOne,
			Doc: "Source NAT prefixes, one for each subnet, in the order of the subnets: an IPv6 /80 range within the subnet, or auto_assigned."},
			read: valueReader(listParser(ParseSourceNATPrefix), func(in *LoadBalancerService) *Opt[[]string] { return &in.SourceNATPrefixes })},
	}
}

func serviceSecurityRows() []row[LoadBalancerService] {
	const group = "Security groups"
	return []row[LoadBalancerService]{
		{holdsMember: true, Row: Row{Group: group, Key: "load-balancer-source-ranges", Type: "list", Default: "0.0.0.0/0, ::/0", Merge: mergePort,
			Doc: "Address ranges of the clients that the managed security group admits. If the load balancer has no security groups, the rules on nodes and pods admit them. Read only if spec.loadBalancerSourceRanges is empty."},
			read: valueReader(ParseCIDRs, func(in *LoadBalancerService) *Opt[[]string] { return &in.InboundCIDRs })},
		{Row: Row{Group: group, Key: "aws-load-balancer-security-group-prefix-lists", Type: "list", Merge: mergePort,
			Doc: "Prefix lists that the managed security group admits."},
			read: valueReader(ParseList, func(in *LoadBalancerService) *Opt[[]string] { return &in.PrefixLists })},
		{Row: Row{Group: group, Key: "aws-load-balancer-security-groups", Type: "list", Default: "a managed security group", Merge: mergeOne,
			Doc: "Security groups, by ID or Name tag, instead of a managed security group."},
			read: valueReader(ParseList, func(in *LoadBalancerService) *Opt[[]string] { return &in.SecurityGroups })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-disable-nlb-sg", Type: "bool", Default: "false", Merge: mergeOne,
			Doc: "Creates a load balancer without security groups. AWS does not allow adding the first security group later, or removing the last one."},
			read: valueReader(ParseBool, func(in *LoadBalancerService) *Opt[bool] { return &in.NoSecurityGroups })},
		{Row: Row{Group: group, Key: "aws-load-balancer-manage-backend-security-group-rules", Type: "bool", Default: "--enable-manage-backend-security-group-rules; true without security groups", Merge: mergeOne,
			Doc: "Manages the rules on nodes and pods for a load balancer without security groups, or with the security groups of an annotation (it then also has the shared backend security group). With a managed security group the rules are always managed."},
			read: valueReader(ParseBool, func(in *LoadBalancerService) *Opt[bool] { return &in.ManageBackendRules })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-inbound-sg-rules-on-private-link-traffic", Type: "on, off", Default: "not managed", Merge: mergeOne,
			Doc: "Whether the rules of the security groups apply to traffic through AWS PrivateLink."},
			read: valueReader(parseOnOff, func(in *LoadBalancerService) *Opt[string] { return &in.PrivateLinkRules })},
		{Row: Row{Group: group, Key: "aws-load-balancer-enable-icmp-for-path-mtu-discovery", Type: "on, off", Default: "off", Merge: mergeOne,
			Doc: "Admits the ICMP messages of path MTU discovery from the address ranges of the clients. Invalid values mean off."},
			read: valueReader(parseOnOff, func(in *LoadBalancerService) *Opt[string] { return &in.PathMTUDiscovery })},
	}
}

func serviceListenerRows() []row[LoadBalancerService] {
	const group = "Listeners and TLS"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-ssl-cert", Type: "list", Merge: mergeOwn,
			Doc: "Certificates by ARN; the first certificate is the default. TCP ports become TLS listeners."},
			read: valueReader(ParseList, func(in *LoadBalancerService) *Opt[[]string] { return &in.Certificates })},
		{Row: Row{Group: group, Key: "aws-load-balancer-ssl-ports", Type: "list", Default: "all TCP ports", Merge: mergeOwn,
			Doc: "Ports that become TLS listeners, by name or number. Each must be a port of the Service."},
			read: valueReader(ParseList, func(in *LoadBalancerService) *Opt[[]string] { return &in.TLSPorts })},
		{Row: Row{Group: group, Key: "aws-load-balancer-ssl-negotiation-policy", Type: "string", Default: "--default-ssl-policy", Merge: mergeOwn,
			Doc: "TLS policy of the TLS listeners."},
			read: valueReader(ParseString, func(in *LoadBalancerService) *Opt[string] { return &in.SSLPolicy })},
		{Row: Row{Group: group, Key: "aws-load-balancer-backend-protocol", Type: "string", Merge: mergeOwn,
			Doc: "Protocol of connections to targets: with ssl, TLS listeners also use TLS for connections to targets. Other values have no effect."},
			read: valueReader(ParseString, func(in *LoadBalancerService) *Opt[string] { return &in.BackendProtocol })},
		{Row: Row{Group: group, Key: "aws-load-balancer-alpn-policy", Type: "None, HTTP1Only, HTTP2Only, HTTP2Optional, HTTP2Preferred", Merge: mergeOwn,
			Doc: "ALPN policy of the TLS listeners."},
			read: valueReader(EnumParser("None", "HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred"), func(in *LoadBalancerService) *Opt[string] { return &in.ALPN })},
		{holdsMember: true, Row: Row{Group: group, Key: "aws-load-balancer-enable-tcp-udp-listener", Type: "bool", Default: "feature gate EnableTCPUDPListener", Merge: mergeOwn,
			Doc: "Creates one TCP_UDP listener for a TCP port and a UDP port with the same number."},
			read: valueReader(ParseBool, func(in *LoadBalancerService) *Opt[bool] { return &in.MergeTCPUDP })},
		{Row: Row{Group: group, Key: "aws-load-balancer-quic-enabled-ports", Type: "list", Merge: mergeOwn,
			Doc: "Ports, by name or number, with a QUIC listener instead of UDP, or a TCP_QUIC listener instead of TCP_UDP."},
			read: valueReader(ParseList, func(in *LoadBalancerService) *Opt[[]string] { return &in.QUICPorts })},
		{Row: Row{Group: group, Key: "aws-load-balancer-listener-attributes.<protocol-port>", Type: "map", Merge: mergeKey,
			Doc: "Attributes of one listener, for example aws-load-balancer-listener-attributes.TCP-80. The key has the protocol of the listener."},
			read: keyedReader(ParseMap, func(in *LoadBalancerService) *map[string]Opt[map[string]string] { return &in.ListenerAttributes })},
		{Row: Row{Group: group, Key: networkActionsKey, Type: "json", Merge: mergeOwn,
			Doc: "Weighted target groups of one listener, for example actions.TCP-80: a forward action to this Service and others."},
			read: keyedReader(parseNetworkAction, func(in *LoadBalancerService) *map[string]Opt[NetworkForward] { return &in.Actions })},
	}
}

func serviceTargetRows() []row[LoadBalancerService] {
	const group = "Target groups"
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-nlb-target-type", Type: "instance, ip", Default: "--default-target-type", Merge: mergeOwn,
			Doc: "Targets to register: nodes, by node port (instance), or pods (ip)."},
			read: valueReader(EnumParser(model.InstanceTargets, model.IPTargets), func(in *LoadBalancerService) *Opt[model.TargetType] { return &in.Target.Type })},
		{Row: Row{Group: group, Key: "aws-load-balancer-target-node-labels", Type: "map", Merge: mergeOwn,
			Doc: "Labels that select the nodes to register as instance targets."},
			read: valueReader(parseLimitedMap, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.Target.NodeLabels })},
		{Row: Row{Group: group, Key: "aws-load-balancer-multi-cluster-target-group", Type: "bool", Default: "false", Merge: mergeOwn,
			Doc: "Keeps targets that other clusters have registered."},
			read: valueReader(ParseBool, func(in *LoadBalancerService) *Opt[bool] { return &in.Target.MultiCluster })},
		{Row: Row{Group: group, Key: "aws-load-balancer-target-group-attributes", Type: "map", Merge: mergeOwn,
			Doc: "Attributes of the target groups; other attributes are not changed."},
			read: valueReader(parseTargetGroupAttributes, func(in *LoadBalancerService) *Opt[map[string]string] { return &in.Target.Attributes })},
		{Row: Row{Group: group, Key: "aws-load-balancer-target-group-attributes.<port>", Type: "map", Merge: mergeOwn,
			Doc: "Attributes of the target group of one Service port, by port number. Empty values are ignored."},
			read: keyedReader(parsePortAttributes, func(in *LoadBalancerService) *map[string]Opt[map[string]string] { return &in.Target.PortAttributes })},
		{Row: Row{Group: group, Key: "aws-load-balancer-proxy-protocol", Type: "*", Merge: mergeOwn,
			Doc: "Enables proxy protocol v2 for all targets. It has precedence over all other annotations."},
			read: valueReader(parseProxyProtocol, func(in *LoadBalancerService) *Opt[bool] { return &in.Target.ProxyProtocol })},
		{Row: Row{Group: group, Key: "aws-load-balancer-proxy-protocol-per-target-group", Type: "list", Merge: mergeOwn,
			Doc: "Service ports, by number, whose targets receive proxy protocol v2. It is disabled for all other ports."},
			read: valueReader(parsePortNumbers, func(in *LoadBalancerService) *Opt[[]int32] { return &in.Target.ProxyProtocolPorts })},
	}
}

func serviceHealthRows() []row[LoadBalancerService] {
	const group = "Health checks"
	const local = " With instance targets and externalTrafficPolicy: Local, the default is "
	return []row[LoadBalancerService]{
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-protocol", Type: "TCP, HTTP, HTTPS", Default: "TCP", Merge: mergeOwn,
			Doc: "Protocol of the health check, in upper or lower case." + local + "HTTP."},
			read: valueReader(parseHealthCheckProtocol, func(in *LoadBalancerService) *Opt[string] { return &in.Target.HealthProtocol })},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-port", Type: "traffic-port, int or port name", Default: "traffic-port", Merge: mergeOwn,
			Doc: "Port of the health check; a port name is looked up in the Service." + local + "spec.healthCheckNodePort."},
			read: valueReader(ParseString, func(in *LoadBalancerService) *Opt[string] { return &in.Target.HealthPort })},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-path", Type: "string", Default: "/", Merge: mergeOwn,
			Doc: "Path of the health check; not used with TCP." + local + "/healthz."},
			read: valueReader(ParseString, func(in *LoadBalancerService) *Opt[string] { return &in.Target.HealthPath })},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-success-codes", Type: "string", Default: "200-399", Merge: mergeOwn,
			Doc: "Response codes of a successful health check; not used with TCP. Ignored without feature gate NLBHealthCheckAdvancedConfig."},
			read: valueReader(ParseString, func(in *LoadBalancerService) *Opt[string] { return &in.Target.SuccessCodes })},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-healthy-threshold", Type: "int", Default: "3", Merge: mergeOwn,
			Doc: "Consecutive health checks that must succeed before a target is healthy." + local + "2."},
			read: valueReader(ParseInt, func(in *LoadBalancerService) *Opt[int32] { return &in.Target.HealthyThreshold })},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-unhealthy-threshold", Type: "int", Default: "3", Merge: mergeOwn,
			Doc: "Consecutive health checks that must fail before a target is unhealthy." + local + "2."},
			read: valueReader(ParseInt, func(in *LoadBalancerService) *Opt[int32] { return &in.Target.UnhealthyThreshold })},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-timeout", Type: "int", Default: "10", Merge: mergeOwn,
			Doc: "Seconds without a response after which a health check fails." + local + "6. Ignored without feature gate NLBHealthCheckAdvancedConfig."},
			read: valueReader(ParseInt, func(in *LoadBalancerService) *Opt[int32] { return &in.Target.HealthTimeout })},
		{Row: Row{Group: group, Key: "aws-load-balancer-healthcheck-interval", Type: "int", Default: "10", Merge: mergeOwn,
			Doc: "Seconds between health checks."},
			read: valueReader(ParseInt, func(in *LoadBalancerService) *Opt[int32] { return &in.Target.HealthInterval })},
	}
}

// inTreeRows returns the rows of annotations that only the in-tree cloud provider of Kubernetes reads.
func inTreeRows() []row[LoadBalancerService] {
	const group = "Ignored"
	var out []row[LoadBalancerService]
	for _, k := range []string{"extra-security-groups", "connection-draining-enabled", "connection-draining-timeout", "connection-idle-timeout", "access-log-emit-interval"} {
		out = append(out, row[LoadBalancerService]{Row: Row{Group: group, Key: "aws-load-balancer-" + k, Type: "string", Merge: mergeOwn, Ignored: true,
			Doc: "Read only by the in-tree controller of Kubernetes, for load balancers of other types."}})
	}
	return out
}
