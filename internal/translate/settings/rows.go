package settings

import (
	"errors"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The values of Row.Merge describe how the settings of several members of a stack are merged.
const (
	mergeOne   = "one"   // members that set it must agree
	mergePort  = "port"  // members on one port that set it must agree
	mergeKey   = "key"   // united; members must agree on each key
	mergeUnion = "union" // united
	mergeOwn   = "own"   // matters only to the Ingress itself
)

var (
	ingressTable = newTable(Prefix, groupRows(), loadBalancerRows(), listenerRows(), ruleRows(), authRows(), targetRows(), healthRows(), addOnRows(), frontendRows())
	// backendTable has the rows of ingressTable that a Service behind an Ingress may set.
	backendTable = slices.DeleteFunc(slices.Clone(ingressTable), func(r row[Ingress]) bool { return !r.Service })
)

func groupRows() []row[Ingress] {
	const group = "Groups"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "group.name", Type: "string", Merge: mergeOwn,
			Doc: "Joins the IngressGroup of this name; its members share one load balancer, across namespaces."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.GroupName })},
		{Row: Row{Group: group, Key: "group.order", Type: "int", Default: "0", Merge: mergeOwn,
			Doc: "Position among the members, from -1000 to 1000; rules of lower numbers come first."},
			read: valueReader(parseGroupOrder, func(in *Ingress) *Opt[int32] { return &in.GroupOrder })},
	}
}

func parseGroupOrder(raw string) (int32, error) {
	n, err := Int(raw)
	if err != nil || n < -1000 || n > 1000 {
		return 0, errors.New("not a whole number from -1000 to 1000")
	}
	return n, nil
}

func loadBalancerRows() []row[Ingress] {
	const group = "Load balancer"
	return []row[Ingress]{
		{holdsMember: true, Row: Row{Group: group, Key: "load-balancer-name", Type: "string", Default: "generated", Merge: mergeOne,
			Doc: "Name of a new load balancer, at most 32 characters. An existing one keeps its name."},
			read: valueReader(maxBytes(32), func(in *Ingress) *Opt[string] { return &in.Name })},
		{holdsMember: true, Row: Row{Group: group, Key: "scheme", Type: "internal, internet-facing", Default: "--default-load-balancer-scheme", Merge: mergeOne,
			Doc: "Whether the load balancer has public addresses. A change of it makes a new load balancer beside the live one, see replacement.md."},
			read: valueReader(Enum(model.Internal, model.InternetFacing), func(in *Ingress) *Opt[model.Scheme] { return &in.Scheme })},
		{holdsMember: true, Row: Row{Group: group, Key: "ip-address-type", Type: "ipv4, dualstack, dualstack-without-public-ipv4", Default: "ipv4", Merge: mergeOne,
			Doc: "Address families of the load balancer."},
			read: valueReader(Enum(model.IPv4, model.DualStack, model.DualStackWithoutPublicIPv4), func(in *Ingress) *Opt[model.AddressType] { return &in.AddressType })},
		{Row: Row{Group: group, Key: "subnets", Type: "list", Default: "discovery", Merge: mergeOne,
			Doc: "Subnets by id or by Name tag; order does not matter."},
			read: valueReader(List, func(in *Ingress) *Opt[[]string] { return &in.Subnets })},
		{Row: Row{Group: group, Key: "security-groups", Type: "list", Default: "a managed group", Merge: mergeOne,
			Doc: "Security groups by id or by Name tag, instead of a managed security group; members must give the same order."},
			read: valueReader(List, func(in *Ingress) *Opt[[]string] { return &in.SecurityGroups })},
		{Row: Row{Group: group, Key: "manage-backend-security-group-rules", Type: "bool", Default: "--enable-manage-backend-security-group-rules", Merge: mergeOne,
			Doc: "With security-groups: also attach the shared backend security group and manage the rules on nodes and pods."},
			read: valueReader(Bool, func(in *Ingress) *Opt[bool] { return &in.ManageBackendRules })},
		{holdsMember: true, Row: Row{Group: group, Key: "customer-owned-ipv4-pool", Type: "string", Merge: mergeOne,
			Doc: "Customer-owned address pool on an Outpost. It cannot be changed later."},
			read: valueReader(notEmpty, func(in *Ingress) *Opt[string] { return &in.CoIPPool })},
		{Row: Row{Group: group, Key: "ipam-ipv4-pool-id", Type: "string", Merge: mergeOne,
			Doc: "IPAM pool of public IPv4 addresses."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.IPAMPool })},
		{holdsMember: true, Row: Row{Group: group, Key: "load-balancer-attributes", Type: "map", Merge: mergeKey,
			Doc: "Attributes of the load balancer; those not named are not changed."},
			read: valueReader(Map, func(in *Ingress) *Opt[map[string]string] { return &in.LoadBalancer.Attributes })},
		{Row: Row{Group: group, Key: "minimum-load-balancer-capacity", Type: "map", Merge: mergeKey,
			Doc: "CapacityUnits=N reserves capacity; 0 ends the reservation."},
			read: valueReader(parseCapacity, func(in *Ingress) *Opt[map[string]string] { return &in.LoadBalancer.Capacity })},
		{holdsMember: true, Row: Row{Group: group, Key: "tags", Type: "map", Service: true, Merge: mergeKey,
			Doc: "Tags of the AWS resources. On a Service: of its target groups, per key before those of the Ingress."},
			read: valueReader(Map, func(in *Ingress) *Opt[map[string]string] { return &in.Tags })},
		{Row: Row{Group: group, Key: "dry-run-plan", Type: "json", Merge: mergeOwn,
			Doc: "The plan of the load balancer, never read. Written on the first member with feature gate IngressPlanAnnotation, removed without it."}},
	}
}

func notEmpty(raw string) (string, error) {
	if raw == "" {
		return "", errors.New("must not be empty")
	}
	return raw, nil
}

// CapacityUnits is the only key of a capacity reservation.
const CapacityUnits = "CapacityUnits"

// parseCapacity reads a Map whose only key may be CapacityUnits, a number of 32 bits.
func parseCapacity(raw string) (map[string]string, error) {
	m, err := Map(raw)
	if err != nil {
		return nil, err
	}
	for k := range m {
		if k != CapacityUnits {
			return nil, errors.New("only CapacityUnits can be given")
		}
	}
	if v, ok := m[CapacityUnits]; ok {
		if _, err := Int(v); err != nil {
			return nil, errors.New("CapacityUnits is not a whole number")
		}
	}
	return m, nil
}

func listenerRows() []row[Ingress] {
	const group = "Listeners and TLS"
	return []row[Ingress]{
		{holdsMember: true, Row: Row{Group: group, Key: "listen-ports", Type: "json", Default: `[{"HTTP":80}], or [{"HTTPS":443}] with certificate-arn`, Merge: mergeUnion,
			Doc: "Ports that the load balancer listens on for the rules of this Ingress."},
			read: valueReader(ListenPorts, func(in *Ingress) *Opt[[]ListenPort] { return &in.ListenPorts })},
		{holdsMember: true, Row: Row{Group: group, Key: "ssl-redirect", Type: "int", Merge: mergeOne,
			Doc: "HTTPS port to which every HTTP listener of the IngressGroup redirects."},
			read: valueReader(Int, func(in *Ingress) *Opt[int32] { return &in.SSLRedirect })},
		{Row: Row{Group: group, Key: "certificate-arn", Type: "list", Default: "discovery by host", Merge: mergeUnion,
			Doc: "Certificates by ARN; the first of the first member is the default."},
			read: valueReader(List, func(in *Ingress) *Opt[[]string] { return &in.Certificates })},
		{Row: Row{Group: group, Key: "ssl-policy", Type: "string", Default: "--default-ssl-policy", Merge: mergePort,
			Doc: "TLS policy of the HTTPS listeners."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.SSLPolicy })},
		{holdsMember: true, Row: Row{Group: group, Key: "mutual-authentication", Type: "json", Merge: mergePort,
			Doc: "Client certificates by port: off, passthrough or verify with a trust store."},
			read: valueReader(MutualAuth, func(in *Ingress) *Opt[map[int32]model.MutualAuth] { return &in.MutualAuth })},
		{holdsMember: true, Row: Row{Group: group, Key: "inbound-cidrs", Type: "list", Default: "0.0.0.0/0, ::/0", Merge: mergePort,
			Doc: "Client ranges that the managed security group admits."},
			read: valueReader(CIDRs, func(in *Ingress) *Opt[[]string] { return &in.InboundCIDRs })},
		{Row: Row{Group: group, Key: "security-group-prefix-lists", Type: "list", Merge: mergePort,
			Doc: "Prefix lists that the managed security group admits."},
			read: valueReader(List, func(in *Ingress) *Opt[[]string] { return &in.PrefixLists })},
		{Row: Row{Group: group, Key: "listener-attributes.<protocol-port>", Type: "map", Merge: mergeKey,
			Doc: "Attributes of a listener, such as listener-attributes.HTTPS-443."},
			read: keyedReader(Map, func(in *Ingress) *map[string]Opt[map[string]string] { return &in.ListenerAttributes })},
		{Row: Row{Group: group, Key: "create-acm-cert", Type: "bool", Default: "false", Merge: mergeOwn,
			Doc: "Requests a certificate in ACM for the hosts. The DNS records of a public one are made in Route 53."},
			read: valueReader(Bool, func(in *Ingress) *Opt[bool] { return &in.CreateCertificate })},
		{Row: Row{Group: group, Key: "acm-pca-arn", Type: "string", Default: "--default-pca-arn", Merge: mergeOwn,
			Doc: "Private CA of a requested certificate."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.CertificateCA })},
	}
}

func ruleRows() []row[Ingress] {
	const group = "Rules"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "actions.<name>", Type: "json", Merge: mergeOwn,
			Doc: "What happens for backends of this name with port use-annotation: forward, redirect or fixed-response."},
			read: keyedReader(ParseAction, func(in *Ingress) *map[string]Opt[Action] { return &in.Actions })},
		{Row: Row{Group: group, Key: "conditions.<name>", Type: "json", Merge: mergeOwn,
			Doc: "Further conditions of rules to backends of this name."},
			read: keyedReader(Conditions, func(in *Ingress) *map[string]Opt[[]model.Condition] { return &in.Conditions })},
		{Row: Row{Group: group, Key: "transforms.<name>", Type: "json", Merge: mergeOwn,
			Doc: "Rewrites of host or path in rules to backends of this name."},
			read: keyedReader(Transforms, func(in *Ingress) *map[string]Opt[[]model.Transform] { return &in.Transforms })},
		{Row: Row{Group: group, Key: "use-regex-path-match", Type: "bool", Default: "false", Merge: mergeOwn,
			Doc: "Reads ImplementationSpecific paths as regular expressions."},
			read: valueReader(Bool, func(in *Ingress) *Opt[bool] { return &in.RegexPaths })},
		{Row: Row{Group: group, Key: "jwt-validation", Type: "json", Merge: mergeOwn,
			Doc: "Bearer token check before every outcome of this Ingress on HTTPS listeners."},
			read: valueReader(JWT, func(in *Ingress) *Opt[model.ValidateJWT] { return &in.JWT })},
	}
}
