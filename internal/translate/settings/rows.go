package settings

import (
	"errors"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Values of Row.Merge: how the values of several members of a stack are merged.
const (
	mergeOne   = "one"   // members that set the annotation must agree
	mergePort  = "port"  // members on the same port that set the annotation must agree
	mergeKey   = "key"   // the values are merged; members must agree on each key
	mergeUnion = "union" // the values are merged
	mergeOwn   = "own"   // the annotation affects only the object that has it
)

// The kinds and paths with which values of Row.Counterpart begin.
const (
	configField     = "LoadBalancerConfiguration spec."
	listenerField   = "LoadBalancerConfiguration spec.listenerConfigurations[]."
	targetsField    = "TargetGroupConfiguration "
	ruleConfigKind  = "ListenerRuleConfiguration"
	networkField    = "LoadBalancerConfiguration of class aws-nlb spec."
	albTargetsField = "TargetGroupConfiguration of the Gateway with the ALB "
)

var (
	ingressTable = newAnnotationTable(Prefix, ingressGroupRows(), loadBalancerRows(), listenerRows(), ruleRows(), authRows(), targetRows(), healthRows(), addOnRows(), frontendRows())
	// backendTable has the rows of ingressTable that a Service behind an Ingress may set.
	backendTable = slices.DeleteFunc(slices.Clone(ingressTable), func(r row[Ingress]) bool { return !r.Service })
)

func ingressGroupRows() []row[Ingress] {
	const group = "Groups"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "group.name", Type: "string", Merge: mergeOwn, Counterpart: "Gateway",
			Doc: "Name of the IngressGroup to join. Its members share one load balancer, across namespaces."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.GroupName })},
		{Row: Row{Group: group, Key: "group.order", Type: "int", Default: "0", Merge: mergeOwn, Counterpart: "order of the rules",
			Doc: "Position in the IngressGroup, from -1000 to 1000; the rules of members with lower numbers have precedence."},
			read: valueReader(parseGroupOrder, func(in *Ingress) *Opt[int32] { return &in.GroupOrder })},
	}
}

func parseGroupOrder(raw string) (int32, error) {
	n, err := ParseInt(raw)
	if err != nil || n < -1000 || n > 1000 {
		return 0, errors.New("not a whole number from -1000 to 1000")
	}
	return n, nil
}

func loadBalancerRows() []row[Ingress] {
	const group = "Load balancer"
	return []row[Ingress]{
		{holdsMember: true, Row: Row{Group: group, Key: "load-balancer-name", Type: "string", Default: "generated", Merge: mergeOne, Counterpart: configField + "loadBalancerName",
			Doc: "Name of a new load balancer, at most 32 characters. An existing load balancer keeps its name."},
			read: valueReader(maxBytesParser(32), func(in *Ingress) *Opt[string] { return &in.Name })},
		{holdsMember: true, Row: Row{Group: group, Key: "scheme", Type: "internal, internet-facing", Default: "--default-load-balancer-scheme", Merge: mergeOne, Counterpart: configField + "scheme",
			Doc: "Whether the load balancer has public addresses. A change of the scheme replaces the load balancer, see replacement.md."},
			read: valueReader(EnumParser(model.Internal, model.InternetFacing), func(in *Ingress) *Opt[model.Scheme] { return &in.Scheme })},
		{holdsMember: true, Row: Row{Group: group, Key: "ip-address-type", Type: "ipv4, dualstack, dualstack-without-public-ipv4", Default: "ipv4", Merge: mergeOne, Counterpart: configField + "ipAddressType",
			Doc: "Address families of the load balancer."},
			read: valueReader(EnumParser(model.IPv4, model.DualStack, model.DualStackWithoutPublicIPv4), func(in *Ingress) *Opt[model.AddressType] { return &in.AddressType })},
		{Row: Row{Group: group, Key: "subnets", Type: "list", Default: "discovery", Merge: mergeOne, Counterpart: configField + "loadBalancerSubnets",
			Doc: "Subnets, by ID or Name tag, in any order."},
			read: valueReader(ParseList, func(in *Ingress) *Opt[[]string] { return &in.Subnets })},
		{Row: Row{Group: group, Key: "security-groups", Type: "list", Default: "a managed security group", Merge: mergeOne, Counterpart: configField + "securityGroups",
			Doc: "Security groups, by ID or Name tag, instead of a managed security group. All members must list them in the same order."},
			read: valueReader(ParseList, func(in *Ingress) *Opt[[]string] { return &in.SecurityGroups })},
		{Row: Row{Group: group, Key: "manage-backend-security-group-rules", Type: "bool", Default: "--enable-manage-backend-security-group-rules", Merge: mergeOne, Counterpart: configField + "manageBackendSecurityGroupRules",
			Doc: "With security-groups: also attaches the shared backend security group and manages the rules on nodes and pods."},
			read: valueReader(ParseBool, func(in *Ingress) *Opt[bool] { return &in.ManageBackendRules })},
		{holdsMember: true, Row: Row{Group: group, Key: "customer-owned-ipv4-pool", Type: "string", Merge: mergeOne, Counterpart: configField + "customerOwnedIpv4Pool",
			Doc: "Customer-owned address pool on an Outpost. The pool cannot be changed later."},
			read: valueReader(parseNonEmpty, func(in *Ingress) *Opt[string] { return &in.CoIPPool })},
		{Row: Row{Group: group, Key: "ipam-ipv4-pool-id", Type: "string", Merge: mergeOne, Counterpart: configField + "ipv4IPAMPoolId",
			Doc: "IPAM pool of public IPv4 addresses."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.IPAMPool })},
		{holdsMember: true, Row: Row{Group: group, Key: "load-balancer-attributes", Type: "map", Merge: mergeKey, Counterpart: configField + "loadBalancerAttributes",
			Doc: "Attributes of the load balancer; other attributes are not changed. With deletion_protection.enabled=true the load balancer is neither deleted nor replaced."},
			read: valueReader(ParseMap, func(in *Ingress) *Opt[map[string]string] { return &in.LoadBalancer.Attributes })},
		{Row: Row{Group: group, Key: "minimum-load-balancer-capacity", Type: "map", Merge: mergeKey, Counterpart: configField + "minimumLoadBalancerCapacity",
			Doc: "Minimum capacity of the load balancer: CapacityUnits=N reserves N units, CapacityUnits=0 ends the reservation."},
			read: valueReader(parseCapacity, func(in *Ingress) *Opt[map[string]string] { return &in.LoadBalancer.Capacity })},
		{holdsMember: true, Row: Row{Group: group, Key: "tags", Type: "map", Service: true, Merge: mergeKey, Counterpart: "tags of all configurations",
			Doc: "Tags of the AWS resources. On a Service: tags of its target groups; they override the tags of the Ingress with the same key."},
			read: valueReader(ParseMap, func(in *Ingress) *Opt[map[string]string] { return &in.Tags })},
		{Row: Row{Group: group, Key: "dry-run-plan", Type: "json", Merge: mergeOwn, Counterpart: "written by the controller, not read",
			Doc: "Plan of the load balancer. With feature gate IngressPlanAnnotation, the controller writes the annotation on the first member; without the gate, the controller removes it. The controller never reads it."}},
	}
}

func parseNonEmpty(raw string) (string, error) {
	if raw == "" {
		return "", errors.New("must not be empty")
	}
	return raw, nil
}

// CapacityUnits is the only key of a capacity reservation.
const CapacityUnits = "CapacityUnits"

// parseCapacity parses a map whose only valid key is CapacityUnits, with a whole number of at most 32 bits as value.
func parseCapacity(raw string) (map[string]string, error) {
	m, err := ParseMap(raw)
	if err != nil {
		return nil, err
	}
	for k := range m {
		if k != CapacityUnits {
			return nil, errors.New("CapacityUnits is the only valid key")
		}
	}
	if v, ok := m[CapacityUnits]; ok {
		if _, err := ParseInt(v); err != nil {
			return nil, errors.New("CapacityUnits is not a whole number")
		}
	}
	return m, nil
}

func listenerRows() []row[Ingress] {
	const group = "Listeners and TLS"
	return []row[Ingress]{
		{holdsMember: true, Row: Row{Group: group, Key: "listen-ports", Type: "json", Default: `[{"HTTP":80}], or [{"HTTPS":443}] with certificate-arn or create-acm-cert`, Merge: mergeUnion, Counterpart: "listeners of the Gateway",
			Doc: "Ports that the load balancer listens on for the rules of this Ingress."},
			read: valueReader(ParseListenPorts, func(in *Ingress) *Opt[[]ListenPort] { return &in.ListenPorts })},
		{holdsMember: true, Row: Row{Group: group, Key: "ssl-redirect", Type: "int", Merge: mergeOne, Counterpart: "HTTPRoute with a redirect",
			Doc: "HTTPS port to which every HTTP listener of the IngressGroup redirects."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.SSLRedirect })},
		{Row: Row{Group: group, Key: "certificate-arn", Type: "list", Default: "discovery by host", Merge: mergeUnion, Counterpart: listenerField + "certificates",
			Doc: "Certificates by ARN; the first certificate of the first member is the default."},
			read: valueReader(ParseList, func(in *Ingress) *Opt[[]string] { return &in.Certificates })},
		{Row: Row{Group: group, Key: "ssl-policy", Type: "string", Default: "--default-ssl-policy", Merge: mergePort, Counterpart: listenerField + "sslPolicy",
			Doc: "TLS policy of the HTTPS listeners."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.SSLPolicy })},
		{holdsMember: true, Row: Row{Group: group, Key: "mutual-authentication", Type: "json", Merge: mergePort, Counterpart: listenerField + "mutualAuthentication",
			Doc: "Verification of client certificates, by port: off, passthrough, or verify with a trust store."},
			read: valueReader(ParseMutualAuth, func(in *Ingress) *Opt[map[int32]model.MutualAuth] { return &in.MutualAuth })},
		{holdsMember: true, Row: Row{Group: group, Key: "inbound-cidrs", Type: "list", Default: "0.0.0.0/0, ::/0", Merge: mergePort, Counterpart: configField + "sourceRanges",
			Doc: "Address ranges of the clients that the managed security group admits."},
			read: valueReader(ParseCIDRs, func(in *Ingress) *Opt[[]string] { return &in.InboundCIDRs })},
		{Row: Row{Group: group, Key: "security-group-prefix-lists", Type: "list", Merge: mergePort, Counterpart: configField + "securityGroupPrefixes",
			Doc: "Prefix lists that the managed security group admits."},
			read: valueReader(ParseList, func(in *Ingress) *Opt[[]string] { return &in.PrefixLists })},
		{Row: Row{Group: group, Key: "listener-attributes.<protocol-port>", Type: "map", Merge: mergeKey, Counterpart: listenerField + "listenerAttributes",
			Doc: "Attributes of one listener, for example listener-attributes.HTTPS-443."},
			read: keyedReader(ParseMap, func(in *Ingress) *map[string]Opt[map[string]string] { return &in.ListenerAttributes })},
		{Row: Row{Group: group, Key: "create-acm-cert", Type: "bool", Default: "false", Merge: mergeOwn,
			Doc: "Requests a certificate in ACM for the hosts, with feature gate EnableCertificateManagement. For a public certificate, the controller creates the validation records in Route 53."},
			read: valueReader(ParseBool, func(in *Ingress) *Opt[bool] { return &in.CreateCertificate })},
		{Row: Row{Group: group, Key: "acm-pca-arn", Type: "string", Default: "--default-pca-arn", Merge: mergeOwn,
			Doc: "Private CA that issues the requested certificate."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.CertificateCA })},
	}
}

func ruleRows() []row[Ingress] {
	const group = "Rules"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "actions.<name>", Type: "json", Merge: mergeOwn, Counterpart: "rules of HTTPRoutes",
			Doc: "Action of the rules to backends of this name with port use-annotation: forward, redirect or fixed-response."},
			read: keyedReader(parseAction, func(in *Ingress) *map[string]Opt[Action] { return &in.Actions })},
		{Row: Row{Group: group, Key: "conditions.<name>", Type: "json", Merge: mergeOwn, Counterpart: "matches of HTTPRoutes",
			Doc: "Additional conditions of the rules to backends of this name."},
			read: keyedReader(ParseConditions, func(in *Ingress) *map[string]Opt[[]model.Condition] { return &in.Conditions })},
		{Row: Row{Group: group, Key: "transforms.<name>", Type: "json", Merge: mergeOwn, Counterpart: "URLRewrite filters",
			Doc: "Rewrites of the host or path in rules to backends of this name."},
			read: keyedReader(ParseTransforms, func(in *Ingress) *map[string]Opt[[]model.Transform] { return &in.Transforms })},
		{Row: Row{Group: group, Key: "use-regex-path-match", Type: "bool", Default: "false", Merge: mergeOwn, Counterpart: "paths of type RegularExpression",
			Doc: "Reads ImplementationSpecific paths as regular expressions."},
			read: valueReader(ParseBool, func(in *Ingress) *Opt[bool] { return &in.RegexPaths })},
		{Row: Row{Group: group, Key: "jwt-validation", Type: "json", Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "Validation of bearer tokens before every action of this Ingress on HTTPS listeners."},
			read: valueReader(ParseJWT, func(in *Ingress) *Opt[model.ValidateJWT] { return &in.JWT })},
	}
}
