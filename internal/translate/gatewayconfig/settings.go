package gatewayconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Settings has the settings of the load balancer of a Gateway.
type Settings struct {
	settings.Shared
	// Tags are for the load balancer, its listeners and its security group.
	Tags settings.Opt[map[string]string]
	// AdmitsNoClients reports whether the security group admits no client, because sourceRanges is an empty list and there
	// are no prefix lists.
	AdmitsNoClients bool
	// Faults describe the values that are not valid. If there are any, the settings must not be used.
	Faults []settings.Fault
}

// settingsReader converts fields of a configuration to settings in out, and collects faults about values that are not valid.
type settingsReader struct {
	Configuration
	gw  finding.Ref
	out *Settings
}

// Settings returns the settings for the load balancer of a stack of a kind. Fields for other kinds of load balancers are
// left out. gw is the Gateway on which findings are reported.
func (c Configuration) Settings(gw finding.Ref, kind model.Kind) Settings {
	var out Settings
	r := settingsReader{c, gw, &out}
	s := &c.LoadBalancer
	out.Name = uncheckedSetting(r, "loadBalancerName", func(s *spec) *string { return s.LoadBalancerName })
	out.Scheme = parsedSetting(r, "scheme", func(s *spec) *gwconfig.LoadBalancerScheme { return s.Scheme }, settings.EnumParser(model.Internal, model.InternetFacing))
	out.AddressType = parsedSetting(r, "ipAddressType", func(s *spec) *gwconfig.LoadBalancerIPAddressType { return s.IPAddressType },
		settings.EnumParser(model.IPv4, model.DualStack, model.DualStackWithoutPublicIPv4))
	out.SecurityGroups = uncheckedSetting(r, "securityGroups", func(s *spec) *[]string { return s.SecurityGroups })
	out.ManageBackendRules = uncheckedSetting(r, "manageBackendSecurityGroupRules", func(s *spec) *bool { return s.ManageBackendSecurityGroupRules })
	out.PrefixLists = uncheckedSetting(r, "securityGroupPrefixes", func(s *spec) *[]string { return s.SecurityGroupPrefixes })
	r.readClientRanges()
	if s.EnableICMP != nil && *s.EnableICMP {
		out.PathMTUDiscovery = settings.NewOpt("on", r.origin(gw, "enableICMP", func(s *spec) bool { return s.EnableICMP != nil }))
	}
	if len(s.LoadBalancerAttributes) > 0 {
		out.Attributes = settings.NewOpt(AttributeMap(s.LoadBalancerAttributes), r.origin(gw, "loadBalancerAttributes", func(s *spec) bool { return len(s.LoadBalancerAttributes) > 0 }))
	}
	if s.Tags != nil && len(*s.Tags) > 0 {
		out.Tags = settings.NewOpt(*s.Tags, r.origin(gw, "tags", func(s *spec) bool { return s.Tags != nil }))
	}
	r.readSubnets(kind)
	if kind == model.ALBGateway {
		r.readALBSettings()
	} else {
		r.readNLBSettings()
	}
	return out
}

type spec = gwconfig.LoadBalancerConfigurationSpec

// uncheckedSetting returns a field as a setting without checking its value. of returns the value of the field in a
// configuration; nil if it is not set.
func uncheckedSetting[T any](r settingsReader, field string, of func(*spec) *T) settings.Opt[T] {
	value := of(&r.LoadBalancer)
	if value == nil {
		return settings.Opt[T]{}
	}
	return settings.NewOpt(*value, r.origin(r.gw, field, func(s *spec) bool { return of(s) != nil }))
}

// parsedSetting returns a field as a setting. parse checks the value, because the API server may not have checked it. A
// value that is not valid becomes a fault.
func parsedSetting[T, S ~string](r settingsReader, field string, of func(*spec) *S, parse func(string) (T, error)) settings.Opt[T] {
	raw := uncheckedSetting(r, field, of)
	if !raw.Set {
		return settings.Opt[T]{}
	}
	v, err := parse(string(raw.Value))
	if err != nil {
		r.addFault(raw.Origin, fmt.Errorf("%q: %w", finding.TruncateValue(string(raw.Value)), err))
		return settings.Opt[T]{}
	}
	return settings.NewOpt(v, raw.Origin)
}

func (r settingsReader) addFault(at finding.Origin, err error) {
	r.out.Faults = append(r.out.Faults, settings.Fault{Origin: at, Err: err})
}

// readClientRanges reads the address ranges that the managed security group admits. If sourceRanges is not set, all clients
// are admitted, even if prefix lists are set. If sourceRanges is an empty list and there are no prefix lists, no client is
// admitted.
func (r settingsReader) readClientRanges() {
	s, out := &r.LoadBalancer, r.out
	at := r.origin(r.gw, "sourceRanges", func(s *spec) bool { return s.SourceRanges != nil })
	lists := len(out.PrefixLists.Value) > 0
	switch {
	case s.SourceRanges == nil && lists:
		out.InboundCIDRs = settings.NewOpt([]string{"0.0.0.0/0", "::/0"}, at)
	case s.SourceRanges == nil:
	case len(*s.SourceRanges) == 0:
		out.AdmitsNoClients = !lists
	default:
		ranges, err := settings.ParseCIDRValues(*s.SourceRanges)
		if err != nil {
			r.addFault(at, err)
			return
		}
		out.InboundCIDRs = settings.NewOpt(ranges, at)
	}
}

// readALBSettings reads the fields that only application load balancers have.
func (r settingsReader) readALBSettings() {
	out := r.out
	out.CoIPPool = uncheckedSetting(r, "customerOwnedIpv4Pool", func(s *spec) *string { return s.CustomerOwnedIPv4Pool })
	out.IPAMPool = uncheckedSetting(r, "ipv4IPAMPoolId", func(s *spec) *string { return s.IPv4IPAMPoolID })
}

// readNLBSettings reads the fields that only network load balancers have.
func (r settingsReader) readNLBSettings() {
	out := r.out
	out.NoSecurityGroups = uncheckedSetting(r, "disableSecurityGroup", func(s *spec) *bool { return s.DisableSecurityGroup })
	out.PrivateLinkRules = parsedSetting(r, "enforceSecurityGroupInboundRulesOnPrivateLinkTraffic",
		func(s *spec) *string { return s.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic }, settings.EnumParser("on", "off"))
}

// readSubnets reads the subnets with their addresses. A field that is set for one subnet must be set for all subnets.
func (r settingsReader) readSubnets(kind model.Kind) {
	s, out := &r.LoadBalancer, r.out
	isSet := func(s *spec) bool { return s.LoadBalancerSubnets != nil && len(*s.LoadBalancerSubnets) > 0 }
	at := r.origin(r.gw, "loadBalancerSubnets", isSet)
	if kind == model.NLBGateway {
		out.SourceNAT = settings.NewOpt("off", at)
	}
	var identifiers []string
	if isSet(s) {
		identifiers = r.fieldOfAllEntries(at, *s.LoadBalancerSubnets, "identifier", func(c gwconfig.SubnetConfiguration) string { return c.Identifier })
		r.readAddresses(at, *s.LoadBalancerSubnets, kind)
	}
	switch {
	case len(identifiers) > 0:
		out.Subnets = settings.NewOpt(identifiers, at)
	case s.LoadBalancerSubnetsSelector != nil && len(*s.LoadBalancerSubnetsSelector) > 0:
		out.SubnetTags = settings.NewOpt(*s.LoadBalancerSubnetsSelector, r.origin(r.gw, "loadBalancerSubnetsSelector", func(s *spec) bool { return s.LoadBalancerSubnetsSelector != nil }))
	}
}

// readAddresses reads the addresses of a network load balancer. If the entries name no subnets, the addresses are for the
// subnets that are selected by tags, that the existing load balancer has, or that are discovered.
func (r settingsReader) readAddresses(at finding.Origin, entries []gwconfig.SubnetConfiguration, kind model.Kind) {
	out := r.out
	read := func(field string, of func(gwconfig.SubnetConfiguration) *string, check func(string) (string, error)) settings.Opt[[]string] {
		values := r.fieldOfAllEntries(at, entries, field, func(c gwconfig.SubnetConfiguration) string {
			if v := of(c); v != nil {
				return *v
			}
			return ""
		})
		if len(values) == 0 {
			return settings.Opt[[]string]{}
		}
		if kind == model.ALBGateway {
			r.addFault(at, fmt.Errorf("%s is for network load balancers only", field))
			return settings.Opt[[]string]{}
		}
		for i, v := range values {
			var err error
			if values[i], err = check(v); err != nil {
				r.addFault(at, fmt.Errorf("%s %q %w", field, finding.TruncateValue(v), err))
				return settings.Opt[[]string]{}
			}
		}
		return settings.NewOpt(values, at)
	}

	out.ElasticAddresses = read("eipAllocation", func(c gwconfig.SubnetConfiguration) *string { return c.EIPAllocation }, settings.ParseString)
	out.PrivateIPv4 = read("privateIPv4Allocation", func(c gwconfig.SubnetConfiguration) *string { return c.PrivateIPv4Allocation }, settings.ParseIPv4)
	out.IPv6 = read("ipv6Allocation", func(c gwconfig.SubnetConfiguration) *string { return c.IPv6Allocation }, settings.ParseIPv6)
	prefixes := read("sourceNatIPv6Prefix", func(c gwconfig.SubnetConfiguration) *string { return c.SourceNatIPv6Prefix }, settings.ParseSourceNATPrefix)
	if prefixes.Set {
		out.SourceNAT = settings.NewOpt("on", at)
		if slices.ContainsFunc(prefixes.Value, func(p string) bool { return p != settings.AutoAssigned }) {
			out.SourceNATPrefixes = prefixes
		}
	}
}

// fieldOfAllEntries returns the values of a field in all entries, or none. A field that only some of the entries set is a
// fault.
func (r settingsReader) fieldOfAllEntries(at finding.Origin, entries []gwconfig.SubnetConfiguration, field string, of func(gwconfig.SubnetConfiguration) string) []string {
	var out []string
	for _, e := range entries {
		if v := of(e); v != "" {
			out = append(out, v)
		}
	}
	if len(out) != 0 && len(out) != len(entries) {
		r.addFault(at, fmt.Errorf("%d of %d entries have %s, but all entries must have it", len(out), len(entries), field))
		return nil
	}
	return out
}

// ListenerEntry returns the entry of listenerConfigurations for a protocol and port, and its origin. The entry is nil if
// there is none.
func (c Configuration) ListenerEntry(gw finding.Ref, protocol string, port int32) (entry *gwconfig.ListenerConfiguration, at finding.Origin) {
	if c.LoadBalancer.ListenerConfigurations == nil {
		return nil, finding.Origin{}
	}
	key := protocol + ":" + strconv.Itoa(int(port))
	list := *c.LoadBalancer.ListenerConfigurations
	for i := len(list) - 1; i >= 0; i-- { // the last entry has precedence
		if strings.EqualFold(list[i].ProtocolPort, key) {
			return &list[i], c.origin(gw, "listenerConfigurations["+key+"]", func(s *spec) bool {
				return s.ListenerConfigurations != nil && slices.ContainsFunc(*s.ListenerConfigurations, func(l gwconfig.ListenerConfiguration) bool { return strings.EqualFold(l.ProtocolPort, key) })
			})
		}
	}
	return nil, finding.Origin{}
}
