package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Fields returns the fields that a step changes. If the step creates a resource, it returns the fields of the new resource,
// without its attributes, which a separate step sets.
func (s Step) Fields() []Change {
	if len(s.Changes) > 0 {
		return s.Changes
	}
	var f fields
	switch do := s.Do.(type) {
	case CreateSecurityGroup:
		f.add("name", do.Name)
		f.add("description", do.Description)
		f.addTags(do.Tags)
	case CreateLoadBalancer:
		f.addLoadBalancer(do)
	case CreateTargetGroup:
		f.addTargetGroup(do)
	case CreateListener:
		f.addListener(do)
	case CreateRule:
		f.add("priority", formatInt32(do.Priority))
		f.add("conditions", ConditionsText(do.Rule.Conditions))
		f.add("actions", ActionsText(do.Rule.Actions))
		f.addTransforms(do.Rule.Transforms)
		f.addTags(do.Tags)
	case PutBinding:
		if do.Existing == nil {
			f.addBinding(do)
		}
	case RequestCertificate:
		f.add("domain", do.Domain)
		f.add("hosts", strings.Join(do.Hosts, ", "))
		f.add("certificate authority", do.CA)
		f.addTags(do.Tags)
	case CreateRecord:
		f.add("hosted zone", do.Zone)
		f.add("name", do.Name)
		f.add("value", do.Value)
	case RegisterALB:
		f.add("target group", do.Group.ID)
		f.add("load balancer", cmp.Or(do.ARN, do.LoadBalancer.ID))
		f.add("port", formatInt32(do.Port))
	case CreateProtection:
		f.add("name", do.Name)
	default:
		f.addAccelerator(do)
	}
	return f
}

// fields has the fields of a new resource that have a value.
type fields []Change

func (f *fields) add(path, to string) {
	if to != "" {
		*f = append(*f, Change{Path: path, To: to})
	}
}

func (f *fields) addTags(t Tags) { f.add("tags", keyValueText(t)) }

func (f *fields) addLoadBalancer(do CreateLoadBalancer) {
	f.add("name", do.Name)
	f.add("type", string(do.Type))
	f.add("scheme", string(do.Scheme))
	f.add("address type", string(do.AddressType))
	var subnets, elastic, private []string
	for _, m := range do.Subnets {
		subnets = append(subnets, m.Subnet)
		elastic = append(elastic, m.Allocation)
		private = append(private, m.PrivateIPv4, m.IPv6)
	}
	f.add("subnets", strings.Join(subnets, ", "))
	f.add("security groups", SecurityGroupsText(do.SecurityGroups))
	f.add("elastic addresses", strings.Join(removeEmpty(elastic), ", "))
	f.add("private addresses", strings.Join(removeEmpty(private), ", "))
	f.add("customer-owned IPv4 pool", do.CoIPPool)
	f.add("IPAM pool", do.IPAMPool)
	f.addTags(do.Tags)
}

// removeEmpty removes empty strings from a list, in place.
func removeEmpty(texts []string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func (f *fields) addTargetGroup(do CreateTargetGroup) {
	g := do.Group
	f.add("name", g.Name)
	f.add("target type", string(g.Type))
	f.add("protocol", g.Protocol)
	f.add("protocol version", g.ProtocolVersion)
	f.add("port", formatInt32(g.Port))
	f.add("address type", string(g.AddressType))
	if g.ControlPort != nil {
		f.add("control port", formatInt32(*g.ControlPort))
	}
	f.add("health check", g.HealthCheck.Text())
	f.addTags(do.Tags)
}

func (f *fields) addListener(do CreateListener) {
	s := do.Settings
	f.add("port", formatInt32(s.Port))
	f.add("protocol", s.Protocol)
	f.add("TLS policy", s.Policy)
	f.add("ALPN policy", s.ALPN)
	f.add("certificate", s.Certificate)
	if m := s.MutualAuth; m != nil {
		f.add("client certificates", strings.TrimSpace(m.Mode+" "+m.TrustStore))
	}
	f.add("default action", ActionsText(s.Default))
	f.addTags(do.Tags)
}

func (f *fields) addBinding(do PutBinding) {
	b := do.Binding
	f.add("name", b.Namespace+"/"+b.Name)
	f.add("service", b.Service+":"+b.Port.String())
	f.add("target type", string(do.Type))
	if b.MultiCluster {
		f.add("multi-cluster", "true")
	}
	if s := b.NodeSelector; s != nil {
		f.add("nodes", keyValueText(s.MatchLabels))
	}
}

func (f *fields) addTransforms(ts []model.Transform) {
	for _, t := range ts {
		for _, r := range t.Rewrites {
			f.add(string(t.Kind), r.Regex+" -> "+r.Replace)
		}
	}
}

// keyValueText returns a map as key=value pairs, sorted by key.
func keyValueText(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, ", ")
}

func formatInt32(n int32) string { return strconv.Itoa(int(n)) }
