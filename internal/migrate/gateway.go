package migrate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// build generates the Gateway and the other objects for one load balancer. It sets the fields Gateway, Objects, Notes and
// Annotations of the IngressGroup.
func (g *generator) build() {
	namespace, configName := g.Members[0].Namespace, g.objectName(configSuffix, groupConfigSuffix)
	g.Gateway = finding.Ref{Kind: "Gateway", Namespace: namespace, Name: g.objectName(gatewaySuffix, groupGatewaySuffix)}
	config := &gwconfig.LoadBalancerConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "LoadBalancerConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName},
		Spec:       configBuilder{g, g.lb}.spec(),
	}
	gw := newGateway(g.Gateway, albClassName, configName)
	for _, l := range g.lb.Listeners {
		gw.Spec.Listeners = append(gw.Spec.Listeners, g.gatewayListener(l))
	}
	source := g.originText()
	g.Objects = append(g.Objects, Object{Object: config, Origin: source}, g.annotateGateway(gw, source))
	routeBuilder{g}.addRoutes()
	g.buildFrontend()
	g.addUntranslatedNotes()
	g.listAnnotations()
}

// newGateway returns a Gateway without listeners. class is its GatewayClass, and config is its LoadBalancerConfiguration.
func newGateway(ref finding.Ref, class gwv1.ObjectName, config string) *gwv1.Gateway {
	return &gwv1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "Gateway"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: class,
			Infrastructure: &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
				Group: gwv1.Group(gwconfig.GroupVersion.Group), Kind: "LoadBalancerConfiguration", Name: config,
			}},
		},
	}
}

// originText returns text for comments in manifests: the name of the Ingress, or of the IngressGroup with its Ingresses.
func (g *generator) originText() string {
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Namespace+"/"+m.Name)
	}
	if g.ID.Namespace == "" {
		return fmt.Sprintf("IngressGroup %s: Ingresses %s", g.ID.Name, strings.Join(out, ", "))
	}
	return "Ingress " + out[0]
}

// sectionName returns the name of the Gateway listener for a listener, such as "https-443".
func sectionName(l model.Listener) gwv1.SectionName {
	return gwv1.SectionName(fmt.Sprintf("%s-%d", strings.ToLower(l.Protocol()), l.Port))
}

// gatewayListener returns the Gateway listener for a listener of the ALB. It admits only routes from the namespaces of the
// members.
func (g *generator) gatewayListener(l model.Listener) gwv1.Listener {
	out := gwv1.Listener{Name: sectionName(l), Port: gwv1.PortNumber(l.Port), Protocol: gwv1.HTTPProtocolType}
	if l.TLS != nil {
		out.Protocol = gwv1.HTTPSProtocolType
		out.TLS = g.certificateRefs(l)
	}
	var namespaces []string
	for _, m := range g.Members {
		namespaces = append(namespaces, m.Namespace)
	}
	slices.Sort(namespaces)
	if namespaces = slices.Compact(namespaces); len(namespaces) > 1 {
		// Without a selector, any namespace of the cluster could add a route for any host.
		out.AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{
			From: new(gwv1.NamespacesFromSelector),
			Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: namespaces},
			}},
		}}
	}
	return out
}

// certificateRefs returns references to the TLS Secrets of a listener; nil if there are none. It adds ReferenceGrants for
// Secrets of other namespaces.
func (g *generator) certificateRefs(l model.Listener) *gwv1.ListenerTLSConfig {
	var out *gwv1.ListenerTLSConfig
	for _, c := range l.TLS.Certificates {
		managed, _ := c.(model.CertManaged)
		for _, id := range managed.IDs {
			i := slices.IndexFunc(g.IngressStack.Certificates, func(m model.ManagedCertificate) bool { return m.ID == id && m.Import != nil })
			if i < 0 {
				continue // the certificate is requested from ACM
			}
			namespace, name, _ := strings.Cut(g.IngressStack.Certificates[i].Import.Secret, "/")
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

// addReferenceGrant adds a ReferenceGrant that permits the Gateway to refer to a Secret of another namespace. All Secrets of
// a namespace share one ReferenceGrant.
func (g *generator) addReferenceGrant(namespace, secret string) {
	to := gwv1beta1.ReferenceGrantTo{Kind: "Secret", Name: new(gwv1.ObjectName(secret))}
	for _, o := range g.Objects {
		if grant, ok := o.Object.(*gwv1beta1.ReferenceGrant); ok && grant.Namespace == namespace {
			if !slices.ContainsFunc(grant.Spec.To, func(t gwv1beta1.ReferenceGrantTo) bool { return *t.Name == *to.Name }) {
				grant.Spec.To = append(grant.Spec.To, to)
			}
			return
		}
	}
	g.Objects = append(g.Objects, Object{Origin: g.originText() + ", for the certificates of " + namespace, Object: &gwv1beta1.ReferenceGrant{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1beta1.GroupVersion.String(), Kind: "ReferenceGrant"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: objectName(namespace, g.ID.Name, grantSuffix)},
		Spec: gwv1beta1.ReferenceGrantSpec{
			From: []gwv1beta1.ReferenceGrantFrom{{Group: gwv1.GroupName, Kind: "Gateway", Namespace: gwv1.Namespace(g.Gateway.Namespace)}},
			To:   []gwv1beta1.ReferenceGrantTo{to},
		},
	}})
}

// configBuilder makes the LoadBalancerConfiguration for lb, which is the ALB or the frontend NLB.
type configBuilder struct {
	*generator
	lb *model.LoadBalancer
}

// spec returns the settings of the load balancer and its listeners. It adds notes about settings that cannot be translated.
func (g configBuilder) spec() gwconfig.LoadBalancerConfigurationSpec {
	lb := g.lb
	var out gwconfig.LoadBalancerConfigurationSpec
	isSet := func(field string) bool { return lb.Origins[field] != finding.Origin{} }
	if isSet("name") {
		out.LoadBalancerName = &lb.Name
	}
	if isSet("scheme") {
		out.Scheme = new(gwconfig.LoadBalancerScheme(lb.Scheme))
	}
	if isSet("addressType") {
		out.IPAddressType = new(gwconfig.LoadBalancerIPAddressType(lb.AddressType))
	}
	out.CustomerOwnedIPv4Pool, out.IPv4IPAMPoolID = nilIfEmpty(lb.CoIPPool), nilIfEmpty(lb.IPAMPool)
	g.setSubnets(&out)
	g.setSecurityGroups(&out)
	out.LoadBalancerAttributes = attributeList(lb.Attributes)
	if lb.Capacity != nil {
		out.MinimumLoadBalancerCapacity = &gwconfig.MinimumLoadBalancerCapacity{CapacityUnits: *lb.Capacity}
	}
	g.setAddOns(&out)
	out.Tags = g.tagsOf(lb.Tags, g.migratedFrom())
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

// setSubnets sets the subnets, for a network load balancer each with its Elastic IP address.
func (g configBuilder) setSubnets(out *gwconfig.LoadBalancerConfigurationSpec) {
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
		origin := g.lb.Origins["addresses"]
		g.addNote(Lost, origin.Object, origin.Field, fmt.Sprintf("the number of Elastic IP addresses (%d) differs from the number of subnets (%d), but AWS requires one address for each subnet", len(g.lb.Addresses), len(list)),
			"set one Elastic IP address for each subnet")
	}
	if len(list) > 0 {
		out.LoadBalancerSubnets = &list
	}
}

// addressesFit reports whether there are as many addresses as subnets. It also returns true if there are no addresses, or if
// the subnets are not listed by name or ID.
func addressesFit(lb *model.LoadBalancer) bool {
	s, named := lb.Subnets.(model.SubnetsNamed)
	return !named || len(lb.Addresses) == 0 || len(lb.Addresses) == len(s.Refs)
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// attributeList returns attributes as a list, sorted by key.
func attributeList(values map[string]string) []gwconfig.Attribute {
	var out []gwconfig.Attribute
	for _, k := range slices.Sorted(maps.Keys(values)) {
		out = append(out, gwconfig.Attribute{Key: k, Value: values[k]})
	}
	return out
}

// setSecurityGroups sets the security groups or the ranges of admitted clients, because the defaults of a Gateway differ
// from those of an Ingress.
func (g configBuilder) setSecurityGroups(out *gwconfig.LoadBalancerConfigurationSpec) {
	switch s := g.lb.SecurityGroups.(type) {
	case model.SecurityGroupsGiven:
		out.SecurityGroups = &s.Refs
		out.ManageBackendSecurityGroupRules = &s.Backend
	case model.SecurityGroupsManaged:
		g.setClients(out, s.Group.Ingress)
	}
}

// portClients are the clients that a port admits: address ranges and prefix lists.
type portClients struct{ ranges, lists []string }

// setClients sets the address ranges and prefix lists of the clients that rules admit. A Gateway admits the same clients on
// all ports. If the rules for the ports differ, setClients sets only the clients that every port admits, and adds a note.
func (g configBuilder) setClients(out *gwconfig.LoadBalancerConfigurationSpec, rules []model.IngressRule) {
	byPort := map[int32]*portClients{}
	for _, l := range g.lb.Listeners {
		byPort[l.Port] = &portClients{}
	}
	for _, r := range rules {
		c := byPort[r.From]
		switch {
		case c == nil:
		case r.PrefixList != "":
			c.lists = append(c.lists, r.PrefixList)
		case r.CIDR != "":
			c.ranges = append(c.ranges, r.CIDR)
		}
	}
	open := []string{"0.0.0.0/0"}
	if g.lb.AddressType.HasIPv6() {
		open = append(open, "::/0")
	}
	var common *portClients
	var differs *model.Listener // the first listener whose clients differ from those of the listeners before it
	for _, l := range g.lb.Listeners {
		c := byPort[l.Port]
		slices.Sort(c.ranges)
		slices.Sort(c.lists)
		switch {
		case common == nil:
			common = c
		case !slices.Equal(common.ranges, c.ranges) || !slices.Equal(common.lists, c.lists):
			if differs == nil {
				differs = &l
			}
			common = common.intersect(c, open)
		}
	}
	if differs != nil {
		admitted := "only those that each port admits"
		if len(common.ranges)+len(common.lists) == 0 {
			admitted = "no clients, because the ports have no range or prefix list in common"
		}
		g.addNote(Lost, differs.Members[0], "alb.ingress.kubernetes.io/inbound-cidrs",
			fmt.Sprintf("ports %d and %d admit different clients, but all ports of a Gateway admit the same clients; the Gateway admits %s", g.lb.Listeners[0].Port, differs.Port, admitted),
			"admit the same clients on all ports, or use a separate IngressGroup for each port")
	}
	switch {
	case common == nil:
	case len(common.lists) > 0:
		// Without ranges, a Gateway admits all clients, not only those in the prefix lists.
		out.SecurityGroupPrefixes = &common.lists
		out.SourceRanges = &[]string{}
		if len(common.ranges) > 0 {
			out.SourceRanges = &common.ranges
		}
	case !slices.Equal(common.ranges, open):
		ranges := append([]string{}, common.ranges...) // without ranges an empty list, which admits no clients
		out.SourceRanges = &ranges
	}
}

// intersect returns the clients that both c and o admit: the ranges of c that lie within a range of o, the ranges of o that
// lie within a range of c, and the prefix lists that both have. open are the ranges that contain all addresses. If c or o
// has all ranges of open, it also admits the prefix lists of the other.
func (c *portClients) intersect(o *portClients, open []string) *portClients {
	within := func(ranges, others []string) []string {
		return slices.DeleteFunc(slices.Clone(ranges), func(r string) bool {
			return !slices.ContainsFunc(others, func(other string) bool { return containsRange(other, r) })
		})
	}
	out := &portClients{ranges: append(within(c.ranges, o.ranges), within(o.ranges, c.ranges)...)}
	slices.Sort(out.ranges)
	out.ranges = slices.Compact(out.ranges)
	admits := func(x *portClients, list string) bool {
		isMissing := func(r string) bool { return !slices.Contains(x.ranges, r) }
		return slices.Contains(x.lists, list) || !slices.ContainsFunc(open, isMissing)
	}
	for _, l := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.lists, o.lists)))) {
		if admits(c, l) && admits(o, l) {
			out.lists = append(out.lists, l)
		}
	}
	return out
}

// containsRange reports whether all addresses of the range inner are in the range outer.
func containsRange(outer, inner string) bool {
	a, errA := netip.ParsePrefix(outer)
	b, errB := netip.ParsePrefix(inner)
	return errA == nil && errB == nil && a.Bits() <= b.Bits() && a.Contains(b.Addr())
}

// setAddOns sets the web ACL and the protection by Shield Advanced. It adds notes about web ACLs that a Gateway cannot use.
func (g configBuilder) setAddOns(out *gwconfig.LoadBalancerConfigurationSpec) {
	a := g.lb.AddOns
	if w := a.WebACL; w != nil {
		switch {
		case w.ARN != "":
			out.WAFv2 = &gwconfig.WAFv2Configuration{WebACL: w.ARN}
		case w.Name != "":
			out.WAFv2 = &gwconfig.WAFv2Configuration{WebACL: w.Name}
			g.addNote(Lost, w.Of.Object, w.Of.Field, fmt.Sprintf("a Gateway needs the ARN of the web ACL, but %q is a name", w.Name), "replace the name in webACL by the ARN of the web ACL")
		default:
			g.addNote(Differs, w.Of.Object, w.Of.Field, "the value \"none\" removes the web ACL, but a Gateway without a web ACL setting does not remove an existing web ACL", "remove the web ACL before the migration, if there is one")
		}
	}
	if a.Shield != nil {
		out.ShieldConfiguration = &gwconfig.ShieldConfiguration{Enabled: a.Shield.On}
	}
	if c := a.ClassicACL; c != nil && c.ID != "" {
		g.addNote(Lost, c.Of.Object, c.Of.Field, "Gateways do not support WAF Classic, so the load balancer of the Gateway would have no web ACL", "move to WAFv2 first")
	}
}

// listenerConfiguration returns the settings of a listener other than its protocol and port. needed is false if there are no
// such settings.
func (g configBuilder) listenerConfiguration(l model.Listener) (out gwconfig.ListenerConfiguration, needed bool) {
	out.ProtocolPort = fmt.Sprintf("%s:%d", l.Protocol(), l.Port)
	out.ListenerAttributes = attributeList(l.Attributes)
	if l.TLS != nil {
		if l.TLS.Policy != g.opt.DefaultSSLPolicy {
			out.SSLPolicy = nilIfEmpty(l.TLS.Policy)
		}
		g.setCertificates(l, &out)
		if m := l.TLS.MutualAuth; m != nil {
			out.MutualAuthentication = &gwconfig.MutualAuthentication{
				Mode: gwconfig.MutualAuthenticationMode(m.Mode), TrustStore: nilIfEmpty(m.TrustStore), IgnoreClientCertificateExpiry: m.IgnoreExpiry,
			}
			if m.AdvertiseCA != "" {
				out.MutualAuthentication.AdvertiseTrustStoreCANames = new(gwconfig.AdvertiseTrustStoreCANames(m.AdvertiseCA))
			}
		}
	}
	return out, out.SSLPolicy != nil || out.DefaultCertificate != nil || out.MutualAuthentication != nil || len(out.ListenerAttributes) > 0
}

// setCertificates sets the certificates that members name by ARN. If a listener of a Gateway has such certificates, the
// controller neither discovers nor imports certificates for it. So setCertificates adds notes about the members that need
// discovered or imported certificates.
func (g configBuilder) setCertificates(l model.Listener, out *gwconfig.ListenerConfiguration) {
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
		g.addTLSOnlyHostsNote(l)
		return
	}
	for _, c := range l.TLS.Certificates {
		if m, ok := c.(model.CertManaged); ok {
			g.addNote(Lost, m.Member, m.Field, fmt.Sprintf("the certificate of this TLS Secret is not imported: listener HTTPS:%d has certificates with ARNs, and a Gateway imports no certificates for such a listener", l.Port),
				"add the ARN of a certificate for these hosts to listenerConfigurations, or remove all ARNs there")
		}
	}
	out.DefaultCertificate, out.Certificates = &arns[0], arns[1:]
	if byHost != nil {
		g.addNote(Lost, byHost.Member, "", fmt.Sprintf("the certificates for %s are discovered by host, but a Gateway discovers no certificates for a listener with certificate ARNs", strings.Join(byHost.Hosts, ", ")),
			fmt.Sprintf("add their ARNs to the certificates of %s", out.ProtocolPort))
	}
}

// addTLSOnlyHostsNote adds notes about hosts that are in spec.tls but in no rule. A Gateway discovers certificates only for
// the hosts of its routes.
func (g configBuilder) addTLSOnlyHostsNote(l model.Listener) {
	hasRule := map[string]bool{}
	for _, m := range g.Members {
		for _, h := range ruleHosts(g.ingresses[m]) {
			hasRule[h] = true
		}
	}
	for _, c := range l.TLS.Certificates {
		certHosts, ok := c.(model.CertHosts)
		if !ok {
			continue
		}
		var missing []string
		for _, h := range certHosts.Hosts {
			if !hasRule[h] {
				missing = append(missing, h)
			}
		}
		if len(missing) > 0 {
			g.addNote(Lost, certHosts.Member, "spec.tls", fmt.Sprintf("no certificate will be found for %s: these hosts are only in spec.tls, and a Gateway discovers certificates for the hostnames of its routes", strings.Join(missing, ", ")),
				fmt.Sprintf("set the ARNs of all certificates in listenerConfigurations for HTTPS:%d", l.Port))
		}
	}
}
