package assemble

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// BuildLoadBalancer builds the load balancer from the load-balancer-wide settings of all members.
func (b *Builder) BuildLoadBalancer() *model.LoadBalancer {
	live := b.LiveLoadBalancer()
	agreeScheme, defaultAddressType := members.MergeSetting[model.Scheme], model.IPv4
	if b.Owner != nil && live != nil {
		// If guests share an existing load balancer, its scheme changes only if every member sets another scheme, and
		// its address type only if its owner sets one.
		agreeScheme, defaultAddressType = members.MergeSettingOfAllNamespaces[model.Scheme], live.AddressType
	}
	scheme := agreeScheme(&b.Translation, b.Members, b.settingName("scheme"), func(m *members.Member) settings.Opt[model.Scheme] { return m.Set.Scheme }, members.Equal[model.Scheme],
		members.LiveField(live, func(lb *observed.LoadBalancer) model.Scheme { return lb.Scheme }))
	address := members.MergeSetting(&b.Translation, b.Members, b.settingName("ip-address-type"), func(m *members.Member) settings.Opt[model.AddressType] { return m.Set.AddressType }, members.Equal[model.AddressType],
		members.LiveField(live, func(lb *observed.LoadBalancer) model.AddressType { return lb.AddressType }))
	pool := members.MergeSetting(&b.Translation, b.Members, b.settingName("customer-owned-ipv4-pool"), func(m *members.Member) settings.Opt[string] { return m.Set.CoIPPool }, members.Equal[string],
		members.LiveField(live, func(lb *observed.LoadBalancer) string { return lb.CoIPPool }))
	alb := &model.LoadBalancer{
		Type:        b.Type,
		Scheme:      scheme.ValueOr(b.DefaultScheme),
		AddressType: address.ValueOr(defaultAddressType),
		CoIPPool:    pool.Value,
		Tags:        tagBuilder{b}.loadBalancerTags(b.Members, live),
		Origins:     map[string]finding.Origin{},
	}
	attributes := func(m *members.Member) settings.Opt[map[string]string] { return m.Set.LoadBalancer.Attributes }
	ofClass := func(c settings.Class) map[string]string { return c.Attributes }
	alb.Attributes = members.MergeMapSetting(&b.Translation, b.Members, b.settingName("load-balancer-attributes"), attributes, ofClass, func() map[string]string { return b.LiveAttributes(live) }, equal.SameAttribute)
	alb.AttributesOf = members.OriginsOfKeys(b.Members, attributes, ofClass)
	units, capacityOf := capacityBuilder{b}.capacity()
	alb.Capacity = units
	setOrigin(alb, "capacity", capacityOf)
	name := b.loadBalancerName()
	alb.Name = cmp.Or(name.Value, b.defaultName(alb.Scheme))
	alb.Subnets = subnetBuilder{b}.mergeSubnets()
	if b.Type != model.Network || !(networkSettingsBuilder{b}).hasNoSecurityGroups() {
		alb.SecurityGroups = securityGroupBuilder{b}.securityGroups(alb)
	}
	classSettingReporter{b}.reportIgnoredSettings(alb)
	setOrigin(alb, "scheme", scheme.Origin)
	setOrigin(alb, "addressType", address.Origin)
	setOrigin(alb, "name", name.Origin)
	setOrigin(alb, "coipPool", pool.Origin)
	ipam, from := b.ipamPool()
	alb.IPAMPool = ipam
	setOrigin(alb, "ipamPool", from)
	if b.Type == model.Network {
		networkSettingsBuilder{b}.mergeNetworkSettings(alb)
	}
	return alb
}

// loadBalancerName returns the name that members set. It leaves out and reports a name that AWS would reject, but does not
// hold the member. AWS cannot change the name of an existing load balancer, and an invalid name must not delay a new load
// balancer for the other members.
func (b *Builder) loadBalancerName() members.MergedSetting[string] {
	return members.MergeSetting(&b.Translation, b.Members, b.settingName("load-balancer-name"), func(m *members.Member) settings.Opt[string] {
		o := settings.UnsetIfEmpty(m.Set.Name)
		if fault := naming.LoadBalancerNameFault(o.Value); o.Set && fault != "" {
			b.Found.Add(finding.Finding{
				Object: m.Ref, Field: members.FieldForObject(m.Ref, o.Origin), Reason: finding.AnnotationInvalid, Severity: finding.Error,
				Message: fmt.Sprintf("name %q is not valid: %s; the load balancer gets a generated name", o.Value, fault),
				Fix:     "correct the name",
			})
			return settings.Opt[string]{}
		}
		return o
	}, members.Equal[string], members.LiveField(b.LiveLoadBalancer(), func(lb *observed.LoadBalancer) string { return lb.Name }))
}

// ipamPool returns the ID of the IPAM pool of public IPv4 addresses. If the class of the first member sets no pool,
// members can set it in annotations.
func (b *Builder) ipamPool() (string, finding.Origin) {
	live := members.LiveField(b.LiveLoadBalancer(), func(lb *observed.LoadBalancer) string { return lb.IPAMPool })
	const key = "ipv4IPAMPoolId"
	pool := func(c settings.Class) map[string]string {
		if c.IPAMPool == "" {
			return nil
		}
		return map[string]string{key: c.IPAMPool}
	}
	if first := b.Members[0].Set.Class.IPAMPool; first != "" {
		pool := b.ResolveClassKey(b.Members, "ipamConfiguration", key, first, pool, func(m *members.Member) settings.Opt[map[string]string] {
			return settings.Opt[map[string]string]{Value: map[string]string{key: m.Set.IPAMPool.Value}}
		}, live)
		return pool, b.Members[0].Set.Class.Origin
	}
	won := members.MergeSetting(&b.Translation, b.Members, b.settingName("ipam-ipv4-pool-id"), func(m *members.Member) settings.Opt[string] { return settings.UnsetIfEmpty(m.Set.IPAMPool) }, members.Equal[string], live)
	return won.Value, won.Origin
}

// setOrigin stores the origin of a setting in the load balancer. It does not store an empty origin, which means that the
// default is used.
func setOrigin(alb *model.LoadBalancer, field string, o finding.Origin) {
	if o != (finding.Origin{}) {
		alb.Origins[field] = o
	}
}

// capacityBuilder builds the capacity reservation of the load balancer.
type capacityBuilder struct{ *Builder }

// capacity returns the number of load balancer capacity units (LCUs) to reserve, or nil if no member sets it. The class
// of the first member has precedence over annotations.
func (b capacityBuilder) capacity() (*int32, finding.Origin) {
	class := func(c settings.Class) map[string]string {
		if c.Capacity == nil {
			return nil
		}
		return map[string]string{settings.CapacityUnits: fmt.Sprint(*c.Capacity)}
	}
	for _, m := range b.Members {
		b.HoldMember(m, m.Set.LoadBalancer.Capacity.Check(), !b.NoCapacityReservations && b.Members[0].Set.Class.Capacity == nil)
	}
	if b.NoCapacityReservations {
		return nil, finding.Origin{}
	}
	get := func(m *members.Member) settings.Opt[map[string]string] { return m.Set.LoadBalancer.Capacity }
	units := members.MergeMapSetting(&b.Translation, b.Members, b.settingName("minimum-load-balancer-capacity"), get, class, b.liveCapacity, members.Equal[string])
	raw, ok := units[settings.CapacityUnits]
	n, err := strconv.ParseInt(raw, 10, 32)
	if !ok || err != nil {
		return nil, finding.Origin{}
	}
	return new(int32(n)), members.OriginsOfKeys(b.Members, get, class)[0]
}

// liveCapacity returns the capacity reservation in AWS as a map with the key of the annotation, or nil if it is not
// known.
func (b capacityBuilder) liveCapacity() map[string]string {
	lb := b.LiveLoadBalancer()
	if lb == nil || !b.RequireFact(model.AskCapacity{ARN: lb.ARN}, lb.Capacity != nil) {
		return nil
	}
	return map[string]string{settings.CapacityUnits: strconv.Itoa(int(*lb.Capacity))}
}
