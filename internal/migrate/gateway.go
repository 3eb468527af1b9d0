package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// build makes the objects of the load balancer.
func (g *grouping) build() {
	space, base := g.base()
	gatewayName, configName := name(space, base, gatewaySuffix), name(space, base, configSuffix)
	if g.ID.Namespace == "" {
		gatewayName, configName = name("", base, groupGatewaySuffix), name("", base, groupConfigSuffix)
	}
	namespace := g.Members[0].Namespace
	g.Gateway = finding.Ref{Kind: "Gateway", Namespace: namespace, Name: gatewayName}
	config := &gwconfig.LoadBalancerConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "LoadBalancerConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName},
		Spec:       configBuilder{g, g.lb}.loadBalancer(),
	}
	gw := &gwv1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "Gateway"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: gatewayName},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: className,
			Infrastructure: &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
				Group: gwv1.Group(gwconfig.GroupVersion.Group), Kind: "LoadBalancerConfiguration", Name: configName,
			}},
		},
	}
	for _, l := range g.lb.Listeners {
		gw.Spec.Listeners = append(gw.Spec.Listeners, g.listener(l))
	}
	of := g.describe()
	g.Objects = append(g.Objects, Object{Object: config, From: of}, g.annotate(gw, of))
	routeBuilder{g}.routes()
	g.frontend()
	g.unsupported()
	g.annotations()
}

// describe names where objects of the whole load balancer come from.
func (g *grouping) describe() string {
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Namespace+"/"+m.Name)
	}
	if g.ID.Namespace == "" {
		return fmt.Sprintf("IngressGroup %s: Ingresses %s", g.ID.Name, strings.Join(out, ", "))
	}
	return "Ingress " + out[0]
}

// section returns the name of a listener.
func section(l model.Listener) gwv1.SectionName {
	return gwv1.SectionName(fmt.Sprintf("%s-%d", strings.ToLower(l.Protocol()), l.Port))
}

func (g *grouping) listener(l model.Listener) gwv1.Listener {
	out := gwv1.Listener{Name: section(l), Port: gwv1.PortNumber(l.Port), Protocol: gwv1.HTTPProtocolType}
	if l.TLS != nil {
		out.Protocol = gwv1.HTTPSProtocolType
		out.TLS = g.secrets(l)
	}
	if others := g.namespaces(); len(others) > 1 {
		// Not from all: any namespace of the cluster could add a route for any host.
		slices.Sort(others)
		out.AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{
			From: new(gwv1.NamespacesFromSelector),
			Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: others},
			}},
		}}
	}
	return out
}

// secrets names the TLS Secrets whose certificates a listener serves, with the permission to do so where they are in
// another namespace than the Gateway.
func (g *grouping) secrets(l model.Listener) *gwv1.ListenerTLSConfig {
	var out *gwv1.ListenerTLSConfig
	for _, c := range l.TLS.Certificates {
		managed, _ := c.(model.CertManaged)
		for _, id := range managed.IDs {
			i := slices.IndexFunc(g.From.Certificates, func(m model.ManagedCertificate) bool { return m.ID == id && m.Import != nil })
			if i < 0 {
				continue // a requested one
			}
			namespace, name, _ := strings.Cut(g.From.Certificates[i].Import.Secret, "/")
			ref := gwv1.SecretObjectReference{Name: gwv1.ObjectName(name)}
			if namespace != g.Gateway.Namespace {
				ref.Namespace = new(gwv1.Namespace(namespace))
				g.addReferenceGrant(namespace, name)
			}
			if out == nil {
				out = &gwv1.ListenerTLSConfig{Mode: new(gwv1.TLSModeTerminate)}
			}
			out.CertificateRefs = append(out.CertificateRefs, ref)
		}
	}
	return out
}

// addReferenceGrant lets the Gateway name a Secret of another namespace.
func (g *grouping) addReferenceGrant(namespace, secret string) {
	_, base := g.base()
	to := gwv1beta1.ReferenceGrantTo{Kind: "Secret", Name: new(gwv1.ObjectName(secret))}
	for _, o := range g.Objects {
		if grant, ok := o.Object.(*gwv1beta1.ReferenceGrant); ok && grant.Namespace == namespace {
			if !slices.ContainsFunc(grant.Spec.To, func(t gwv1beta1.ReferenceGrantTo) bool { return *t.Name == *to.Name }) {
				grant.Spec.To = append(grant.Spec.To, to)
			}
			return
		}
	}
	g.Objects = append(g.Objects, Object{From: g.describe() + ", for the certificates of " + namespace, Object: &gwv1beta1.ReferenceGrant{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1beta1.GroupVersion.String(), Kind: "ReferenceGrant"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(namespace, base, grantSuffix)},
		Spec: gwv1beta1.ReferenceGrantSpec{
			From: []gwv1beta1.ReferenceGrantFrom{{Group: gwv1.GroupName, Kind: "Gateway", Namespace: gwv1.Namespace(g.Gateway.Namespace)}},
			To:   []gwv1beta1.ReferenceGrantTo{to},
		},
	}})
}

// configBuilder makes the LoadBalancerConfiguration of a load balancer: the ALB, or the network load balancer in front of it.
type configBuilder struct {
	*grouping
	lb *model.LoadBalancer
}

// loadBalancer returns the configuration of the load balancer as a whole.
func (g configBuilder) loadBalancer() gwconfig.LoadBalancerConfigurationSpec {
	lb := g.lb
	var out gwconfig.LoadBalancerConfigurationSpec
	given := func(field string) bool { return lb.Origins[field] != finding.Origin{} }
	if given("name") {
		out.LoadBalancerName = &lb.Name
	}
	if given("scheme") {
		out.Scheme = new(gwconfig.LoadBalancerScheme(lb.Scheme))
	}
	if given("addressType") {
		out.IPAddressType = new(gwconfig.LoadBalancerIPAddressType(lb.AddressType))
	}
	out.CustomerOwnedIPv4Pool, out.IPv4IPAMPoolID = notEmpty(lb.CoIPPool), notEmpty(lb.IPAMPool)
	g.subnets(&out)
	g.securityGroups(&out)
	out.LoadBalancerAttributes = attributes(lb.Attributes)
	if lb.Capacity != nil {
		out.MinimumLoadBalancerCapacity = &gwconfig.MinimumLoadBalancerCapacity{CapacityUnits: *lb.Capacity}
	}
	g.addOns(&out)
	out.Tags = g.tagsOf(lb.Tags, g.origin())
	for _, l := range lb.Listeners {
		if c, needed := g.listenerConfiguration(l); needed {
			if out.ListenerConfigurations == nil {
				out.ListenerConfigurations = &[]gwconfig.ListenerConfiguration{}
			}
			*out.ListenerConfigurations = append(*out.ListenerConfigurations, c)
		}
	}
	return out
}

// subnets names the subnets, with the elastic addresses of a network load balancer in their order.
func (g configBuilder) subnets(out *gwconfig.LoadBalancerConfigurationSpec) {
	list := make([]gwconfig.SubnetConfiguration, len(g.lb.Addresses))
	switch s := g.lb.Subnets.(type) {
	case model.SubnetsNamed:
		list = make([]gwconfig.SubnetConfiguration, len(s.Refs))
		for i, ref := range s.Refs {
			list[i].Identifier = ref
		}
	case model.SubnetsTagged:
		out.LoadBalancerSubnetsSelector = &s.Tags
	}
	if addressesFit(g.lb) {
		for i := range g.lb.Addresses {
			list[i].EIPAllocation = &g.lb.Addresses[i]
		}
	} else {
		at := g.lb.Origins["addresses"]
		g.note(Lost, at.Object, at.Field, fmt.Sprintf("elastic addresses (%d) are not as many as subnets (%d), so that AWS makes no such load balancer", len(g.lb.Addresses), len(list)),
			"name an address for each subnet")
	}
	if len(list) > 0 {
		out.LoadBalancerSubnets = &list
	}
}

// addressesFit reports whether a load balancer has an elastic address for each subnet that is named, or none.
func addressesFit(lb *model.LoadBalancer) bool {
	s, named := lb.Subnets.(model.SubnetsNamed)
	return !named || len(lb.Addresses) == 0 || len(lb.Addresses) == len(s.Refs)
}

func notEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func attributes(of map[string]string) []gwconfig.Attribute {
	var out []gwconfig.Attribute
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, gwconfig.Attribute{Key: k, Value: of[k]})
	}
	return out
}

// securityGroups writes down who is admitted: what is not written means something else for a Gateway.
func (g configBuilder) securityGroups(out *gwconfig.LoadBalancerConfigurationSpec) {
	switch s := g.lb.SecurityGroups.(type) {
	case model.GroupsGiven:
		out.SecurityGroups = &s.Refs
		out.ManageBackendSecurityGroupRules = &s.Backend
	case model.GroupsManaged:
		g.clients(out, s.Group.Ingress)
	}
}

// clients are the ranges and prefix lists of the managed security group, which are the same on all ports of a Gateway.
func (g configBuilder) clients(out *gwconfig.LoadBalancerConfigurationSpec, rules []model.IngressRule) {
	type clients struct{ ranges, lists []string }
	of := map[int32]*clients{}
	for _, l := range g.lb.Listeners {
		of[l.Port] = &clients{}
	}
	for _, r := range rules {
		c := of[r.From]
		switch {
		case c == nil:
		case r.PrefixList != "":
			c.lists = append(c.lists, r.PrefixList)
		case r.CIDR != "":
			c.ranges = append(c.ranges, r.CIDR)
		}
	}
	var all *clients
	for _, l := range g.lb.Listeners {
		c := of[l.Port]
		slices.Sort(c.ranges)
		slices.Sort(c.lists)
		switch {
		case all == nil:
			all = c
		case !slices.Equal(all.ranges, c.ranges) || !slices.Equal(all.lists, c.lists):
			g.note(Lost, l.Members[0], "alb.ingress.kubernetes.io/inbound-cidrs",
				fmt.Sprintf("ports %d and %d admit different clients, and all ports of a Gateway admit the same", g.lb.Listeners[0].Port, l.Port),
				"admit the same clients on all ports, or use an IngressGroup for each")
			return
		}
	}
	open := []string{"0.0.0.0/0"}
	if g.lb.AddressType.HasIPv6() {
		open = append(open, "::/0")
	}
	switch {
	case all == nil:
	case len(all.lists) > 0:
		// Without ranges a Gateway admits everybody besides the prefix lists.
		out.SecurityGroupPrefixes = &all.lists
		out.SourceRanges = &[]string{}
		if len(all.ranges) > 0 {
			out.SourceRanges = &all.ranges
		}
	case !slices.Equal(all.ranges, open):
		out.SourceRanges = &all.ranges
	}
}

func (g configBuilder) addOns(out *gwconfig.LoadBalancerConfigurationSpec) {
	a := g.lb.AddOns
	if w := a.WebACL; w != nil {
		switch {
		case w.ARN != "":
			out.WAFv2 = &gwconfig.WAFv2Configuration{WebACL: w.ARN}
		case w.Name != "":
			out.WAFv2 = &gwconfig.WAFv2Configuration{WebACL: w.Name}
			g.note(Lost, w.Of.Object, w.Of.Field, fmt.Sprintf("a Gateway takes the web ACL by its ARN, and %q is a name", w.Name), "replace the name in webACL by the ARN of the web ACL")
		default:
			g.note(Differs, w.Of.Object, w.Of.Field, "the value none takes a web ACL off; a Gateway without one leaves on what is live", "take the web ACL off before, if there is one")
		}
	}
	if a.Shield != nil {
		out.ShieldConfiguration = &gwconfig.ShieldConfiguration{Enabled: a.Shield.On}
	}
	if c := a.ClassicACL; c != nil && c.ID != "" {
		g.note(Lost, c.Of.Object, c.Of.Field, "Gateways have no WAF Classic, so that the load balancer would be unguarded", "move to WAFv2 first")
	}
}

// listenerConfiguration returns what a listener has besides protocol and port.
func (g configBuilder) listenerConfiguration(l model.Listener) (out gwconfig.ListenerConfiguration, needed bool) {
	out.ProtocolPort = fmt.Sprintf("%s:%d", l.Protocol(), l.Port)
	out.ListenerAttributes = attributes(l.Attributes)
	if l.TLS != nil {
		if l.TLS.Policy != g.opt.DefaultSSLPolicy {
			out.SSLPolicy = notEmpty(l.TLS.Policy)
		}
		g.certificates(l, &out)
		if m := l.TLS.MutualAuth; m != nil {
			out.MutualAuthentication = &gwconfig.MutualAuthentication{
				Mode: gwconfig.MutualAuthenticationMode(m.Mode), TrustStore: notEmpty(m.TrustStore), IgnoreClientCertificateExpiry: m.IgnoreExpiry,
			}
			if m.AdvertiseCA != "" {
				out.MutualAuthentication.AdvertiseTrustStoreCANames = new(gwconfig.AdvertiseTrustStoreCANames(m.AdvertiseCA))
			}
		}
	}
	return out, out.SSLPolicy != nil || out.DefaultCertificate != nil || out.MutualAuthentication != nil || len(out.ListenerAttributes) > 0
}

// certificates names those that members name. A Gateway that names one does not look for others by host.
func (g configBuilder) certificates(l model.Listener, out *gwconfig.ListenerConfiguration) {
	var arns []string
	var byHost *model.CertHosts
	for _, c := range l.TLS.Certificates {
		switch c := c.(type) {
		case model.CertARNs:
			for _, arn := range c.ARNs {
				if !slices.Contains(arns, arn) {
					arns = append(arns, arn)
				}
			}
		case model.CertHosts:
			if len(c.Hosts) > 0 {
				byHost = &c
			}
		}
	}
	if len(arns) == 0 {
		g.noteTLSOnlyHosts(l)
		return
	}
	for _, c := range l.TLS.Certificates {
		if m, ok := c.(model.CertManaged); ok {
			g.note(Lost, m.Member, m.Field, "a Gateway whose listener names certificates of ACM imports none for it", "name all certificates in listenerConfigurations, or none")
		}
	}
	out.DefaultCertificate, out.Certificates = &arns[0], arns[1:]
	if byHost != nil {
		g.note(Lost, byHost.Member, "", fmt.Sprintf("the certificates for %s are found by host, and a Gateway whose listener names certificates finds none", strings.Join(byHost.Hosts, ", ")),
			fmt.Sprintf("add their ARNs to the certificates of %s", out.ProtocolPort))
	}
}

// noteTLSOnlyHosts notes hosts for which certificates are looked for and that no rule has: a Gateway looks for those of
// its routes.
func (g configBuilder) noteTLSOnlyHosts(l model.Listener) {
	of := map[string]bool{}
	for _, m := range g.Members {
		for _, h := range hostsIn(g.of[m]) {
			of[h] = true
		}
	}
	for _, c := range l.TLS.Certificates {
		by, ok := c.(model.CertHosts)
		if !ok {
			continue
		}
		var lacking []string
		for _, h := range by.Hosts {
			if !of[h] {
				lacking = append(lacking, h)
			}
		}
		if len(lacking) > 0 {
			g.note(Lost, by.Member, "spec.tls", fmt.Sprintf("certificates for %s are found by the hosts of spec.tls, and a Gateway finds those for the hostnames of its routes", strings.Join(lacking, ", ")),
				fmt.Sprintf("name the ARNs of all certificates in listenerConfigurations for HTTPS:%d", l.Port))
		}
	}
}
