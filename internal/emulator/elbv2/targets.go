package elbv2

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const zoneAll = store.ZoneAll

var (
	instanceIDPattern   = regexp.MustCompile(`^i-[0-9a-f]{8,17}$`)
	lambdaARNPattern    = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:.+$`)
	quicServerIDPattern = regexp.MustCompile(`^0x[0-9a-f]{16}$`)
)

// RegisterTargets registers targets, and registers draining targets again. Targets that are already registered do not
// change. It registers none if it returns an error.
func (s *targetGroups) RegisterTargets(c *store.Call, in *elb.RegisterTargetsInput) (*elb.RegisterTargetsOutput, error) {
	var sh validation
	sh.checkPresent("targetGroupArn", in.TargetGroupArn != nil)
	sh.checkPresent("targets", in.Targets != nil)
	sh.validateTargets(in.Targets)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	g, err := findTargetGroup(st, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	p.RemoveDrainedTargets(g, c.Now)
	fresh, err := s.checkTargets(c, p, g, in.Targets)
	if err != nil {
		return nil, err
	}
	if err := s.checkTargetQuotas(st, g, fresh); err != nil {
		return nil, err
	}
	for _, t := range fresh {
		if have := g.Target(t.ID, t.Port); have != nil {
			if have.IsDraining() {
				*have = t
			}
			continue
		}
		g.Targets = append(g.Targets, &t)
	}
	return &elb.RegisterTargetsOutput{}, nil
}

func (s *validation) validateTargets(targets []types.TargetDescription) {
	for i, t := range targets {
		at := fmt.Sprintf("targets.%d.member.", i+1)
		s.checkPresent(at+"id", t.Id != nil)
		s.checkRange(at+"port", t.Port, 1, 65535)
		s.checkLength(at+"quicServerId", t.QuicServerId, 1, 256)
	}
}

// checkTargets checks the targets in a request. It returns them without duplicates, in the form in which they are stored.
func (s *targetGroups) checkTargets(c *store.Call, p *store.Partition, g *store.TargetGroup, targets []types.TargetDescription) ([]store.Target, error) {
	var out []store.Target
	var foreign, stopped, onlyIPv4 []string
	for _, d := range targets {
		t := store.Target{ID: *d.Id, Port: g.Port, Registered: c.Now, QUICServerID: store.Value(d.QuicServerId)}
		if d.Port != nil {
			t.Port = *d.Port
		}
		if err := checkQUICServerID(g, t.QUICServerID); err != nil {
			return nil, err
		}
		if d.AvailabilityZone != nil && g.Type != types.TargetTypeEnumIp {
			return nil, validationError(store.UnprovenSource, "An Availability Zone cannot be specified for target groups with target type '%s'", g.Type)
		}
		var err error
		switch g.Type {
		case types.TargetTypeEnumInstance:
			if !instanceIDPattern.MatchString(t.ID) {
				return nil, validationError(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#3668"), "Instance ID '%s' is not valid", t.ID)
			}
			i := p.Instances[t.ID]
			if i == nil || i.VPCID != g.VPC {
				foreign = append(foreign, t.ID)
			} else if p.InstanceState(i) != store.InstanceRunning {
				stopped = append(stopped, t.ID)
			} else if g.Addressing == types.TargetGroupIpAddressTypeEnumIpv6 && !hasIPv6Address(p, i) {
				onlyIPv4 = append(onlyIPv4, t.ID)
			} else {
				t.Zone = i.Zone // AWS does not return the zone, but counts targets by zone
			}
		case types.TargetTypeEnumIp:
			t.ID, t.Zone, err = checkIPTarget(p, g, t.ID, store.Value(d.AvailabilityZone))
		case types.TargetTypeEnumLambda:
			err = checkLambdaTarget(g, t.ID, d.Port != nil)
			t.Port = 0
		case types.TargetTypeEnumAlb:
			err = s.checkALBTarget(p, g, t)
		}
		if err != nil {
			return nil, err
		}
		same := func(other store.Target) bool { return other.ID == t.ID && other.Port == t.Port }
		if slices.ContainsFunc(out, same) {
			continue
		}
		if isQUIC(g.Protocol) && isQUICServerIDTaken(p.ELB, g, t, out) {
			return nil, validationError(store.UnprovenSource, "The QUIC server ID '%s' is used by another target", t.QUICServerID)
		}
		out = append(out, t)
	}
	if len(foreign) > 0 {
		return nil, store.Errorf(store.UnprovenSource, codeTarget, "The following targets are not in the target group VPC '%s': '%s'", g.VPC, strings.Join(foreign, ", "))
	}
	if len(stopped) > 0 {
		return nil, store.Errorf(store.ReportSource("kubernetes-sigs/cluster-api-provider-aws#5037"), codeTarget, "The following targets are not in a running state and cannot be registered: '%s'", strings.Join(stopped, ", "))
	}
	if len(onlyIPv4) > 0 {
		return nil, store.Errorf(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#3692"), codeTarget, "The following targets cannot be used with this IPv6 target group because of missing primary IPv6 addresses: %s", strings.Join(onlyIPv4, "', '"))
	}
	return out, nil
}

// hasIPv6Address reports whether the first ENI of an instance has an IPv6 address. AWS requires a primary IPv6 address,
// which stays assigned to the ENI. The emulator does not distinguish primary from other IPv6 addresses.
func hasIPv6Address(p *store.Partition, i *store.Instance) bool {
	return len(i.Interfaces) > 0 && len(p.NetworkInterfaces[i.Interfaces[0]].IPv6) > 0
}

func checkQUICServerID(g *store.TargetGroup, id string) error {
	switch {
	case isQUIC(g.Protocol) && !quicServerIDPattern.MatchString(id):
		return validationError(store.UnprovenSource, "A QUIC server ID of the form 0x and 16 hexadecimal digits must be specified for target groups with the %s protocol", g.Protocol)
	case !isQUIC(g.Protocol) && id != "":
		return validationError(store.UnprovenSource, "A QUIC server ID cannot be specified for target groups with the %s protocol", g.Protocol)
	}
	return nil
}

// isQUICServerIDTaken reports whether another target has the QUIC server ID of t. It looks at the targets in added, in g,
// and in the other target groups of the same load balancer.
func isQUICServerIDTaken(st *store.ELBState, g *store.TargetGroup, t store.Target, added []store.Target) bool {
	same := func(other store.Target) bool {
		return other.QUICServerID == t.QUICServerID && (other.ID != t.ID || other.Port != t.Port)
	}
	if slices.ContainsFunc(added, same) {
		return true
	}
	for _, other := range st.TargetGroups {
		if other != g && (g.LoadBalancer == "" || other.LoadBalancer != g.LoadBalancer) {
			continue
		}
		if slices.ContainsFunc(other.Targets, func(have *store.Target) bool { return !have.IsDraining() && same(*have) }) {
			return true
		}
	}
	return false
}

// checkIPTarget checks a target with an IP address. It returns the address in canonical form and the zone of the target.
// zone is the zone in the request.
func checkIPTarget(p *store.Partition, g *store.TargetGroup, id, zone string) (address, detected string, err error) {
	v6 := g.Addressing == types.TargetGroupIpAddressTypeEnumIpv6
	a, parse := netip.ParseAddr(id)
	if parse != nil || a.Is4() == v6 || a.Zone() != "" {
		family := "IPv4"
		if v6 {
			family = "IPv6"
		}
		return "", "", validationError(store.ReportSource("ansible-collections/community.aws#1441"), "The IP address '%s' is not a valid %s address", id, family)
	}
	vpc := p.VPCs[g.VPC]
	if vpc != nil && vpc.Contains(netip.PrefixFrom(a, a.BitLen())) {
		return a.String(), zoneOfAddress(p, g.VPC, a), nil
	}
	if !isAllowedOutsideVPC(a) {
		return "", "", validationError(store.UnprovenSource, "The IP address '%s' is not within the VPC '%s' or a range that is allowed outside of it", id, g.VPC)
	}
	http := isHTTP(g.Protocol)
	crossZoneOff := http && g.Attributes[attrCrossZone] == "false"
	if zone == "" || crossZoneOff && zone == zoneAll {
		return "", "", validationError(store.UnprovenSource, "The IP address '%s' is not within the VPC '%s', so you must specify an Availability Zone", id, g.VPC)
	}
	if zone != zoneAll && p.ZoneByName(zone) == nil {
		return "", "", validationError(store.UnprovenSource, "The Availability Zone '%s' is not valid", zone)
	}
	if http && !crossZoneOff {
		zone = zoneAll
	}
	return a.String(), zone, nil
}

// zoneOfAddress returns the zone of the subnet that contains an address, or "" if there is none.
func zoneOfAddress(p *store.Partition, vpc string, a netip.Addr) string {
	for _, id := range store.SortedKeys(p.Subnets) {
		sub := p.Subnets[id]
		if sub.VPCID != vpc {
			continue
		}
		if sub.CIDR.IsValid() && sub.CIDR.Contains(a) {
			return sub.Zone
		}
		for _, block := range sub.IPv6 {
			if block.Block.Contains(a) {
				return sub.Zone
			}
		}
	}
	return ""
}

// isAllowedOutsideVPC reports whether an address outside the VPC can be a target. Any IPv6 global unicast address can be
// a target.
func isAllowedOutsideVPC(a netip.Addr) bool {
	shared := netip.MustParsePrefix("100.64.0.0/10")
	return a.Is6() && a.IsGlobalUnicast() || a.Is4() && (a.IsPrivate() || shared.Contains(a))
}

func checkLambdaTarget(g *store.TargetGroup, id string, port bool) error {
	if !lambdaARNPattern.MatchString(id) {
		return validationError(store.UnprovenSource, "Lambda function ARN '%s' is not valid", id)
	}
	if port {
		return validationError(store.UnprovenSource, "A port cannot be specified for target groups with target type 'lambda'")
	}
	return nil
}

// checkALBTarget checks an ALB as the target of an NLB. The ALB must have a listener on the port of the target, which may
// differ from the port of the target group.
func (s *targetGroups) checkALBTarget(p *store.Partition, g *store.TargetGroup, t store.Target) error {
	lb := p.ELB.LoadBalancers[t.ID]
	if lb == nil || !lb.IsALB() || lb.VPC != g.VPC {
		return store.Errorf(store.UnprovenSource, codeTarget, "The following targets are not Application Load Balancers in the target group VPC '%s': '%s'", g.VPC, t.ID)
	}
	nlbs := map[string]bool{g.LoadBalancer: true}
	for _, other := range p.ELB.TargetGroups {
		if other.LoadBalancer != "" && other.Type == types.TargetTypeEnumAlb && slices.ContainsFunc(other.Targets, func(have *store.Target) bool {
			return have.ID == lb.ARN && !have.IsDraining()
		}) {
			nlbs[other.LoadBalancer] = true
		}
	}
	if most := s.quota(quotaNLBsPerALB); len(nlbs) > most {
		return store.Errorf(store.UnprovenSource, codeTarget, "The Application Load Balancer '%s' cannot be registered behind more than '%d' Network Load Balancers", t.ID, most)
	}
	for _, l := range listenersOf(p.ELB, lb.ARN) {
		if l.Port == t.Port {
			return nil
		}
	}
	return store.Errorf(store.UnprovenSource, codeTarget, "The Application Load Balancer '%s' has no listener on the port '%d' of the target", t.ID, t.Port)
}

// DeregisterTargets deregisters targets. It ignores targets that are not registered. Targets that may have connections
// become draining first.
func (s *targetGroups) DeregisterTargets(c *store.Call, in *elb.DeregisterTargetsInput) (*elb.DeregisterTargetsOutput, error) {
	var sh validation
	sh.checkPresent("targetGroupArn", in.TargetGroupArn != nil)
	sh.checkPresent("targets", in.Targets != nil)
	sh.validateTargets(in.Targets)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p := c.Partition
	g, err := findTargetGroup(p.ELB, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	for _, d := range in.Targets {
		if g.Type == types.TargetTypeEnumInstance && !instanceIDPattern.MatchString(*d.Id) {
			return nil, validationError(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#3668"), "Instance ID '%s' is not valid", *d.Id)
		}
		if _, err := netip.ParseAddr(*d.Id); g.Type == types.TargetTypeEnumIp && err != nil {
			return nil, validationError(store.ReportSource("ansible-collections/community.aws#1441"), "The IP address '%s' is not a valid IPv4 address", *d.Id)
		}
	}
	p.RemoveDrainedTargets(g, c.Now)
	for _, d := range in.Targets {
		if t := g.Target(targetKey(g, d)); t != nil && !t.IsDraining() {
			t.DrainUntil = c.Now.Add(drainDuration(p, g, t, c))
		}
	}
	p.RemoveDrainedTargets(g, c.Now)
	return &elb.DeregisterTargetsOutput{}, nil
}

// targetKey returns the ID and the port of the registered target to which a request refers.
func targetKey(g *store.TargetGroup, d types.TargetDescription) (id string, port int32) {
	id, port = store.Value(d.Id), g.Port
	if d.Port != nil {
		port = *d.Port
	}
	if a, err := netip.ParseAddr(id); err == nil && g.Type == types.TargetTypeEnumIp {
		id = a.String()
	}
	if g.Type == types.TargetTypeEnumLambda {
		port = 0
	}
	return id, port
}
