package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// loadBalancer merges what the members say about the load balancer as a whole.
func (t *translation) loadBalancer() *model.LoadBalancer {
	live := t.liveALB()
	scheme := agree(t, t.members, "scheme", func(m *member) settings.Opt[model.Scheme] { return m.set.Scheme }, equal[model.Scheme],
		of(live, func(lb *observed.LoadBalancer) model.Scheme { return lb.Scheme }))
	address := agree(t, t.members, "ip-address-type", func(m *member) settings.Opt[model.AddressType] { return m.set.AddressType }, equal[model.AddressType],
		of(live, func(lb *observed.LoadBalancer) model.AddressType { return lb.AddressType }))
	pool := agree(t, t.members, "customer-owned-ipv4-pool", func(m *member) settings.Opt[string] { return m.set.CoIPPool }, equal[string],
		of(live, func(lb *observed.LoadBalancer) string { return lb.CoIPPool }))
	alb := &model.LoadBalancer{
		Scheme:      scheme.Or(t.opt.DefaultScheme),
		AddressType: address.Or(model.IPv4),
		CoIPPool:    pool.Value,
		Tags:        t.sharedTags(t.members, live),
		Origins:     map[string]finding.Origin{},
	}
	attributes := func(m *member) settings.Opt[map[string]string] { return m.set.LoadBalancer.Attributes }
	ofClass := func(c settings.Class) map[string]string { return c.Attributes }
	alb.Attributes = agreeKeys(t, t.members, "load-balancer-attributes", attributes, ofClass, func() map[string]string { return t.liveAttributes(live) }, plan.SameAttribute)
	alb.AttributesOf = askers(t.members, attributes, ofClass)
	units, capacityOf := t.capacity()
	alb.Capacity = units
	t.origin(alb, "capacity", capacityOf)
	name := t.name()
	alb.Name = cmp.Or(name.Value, naming.LoadBalancer(t.opt.Cluster, t.id, alb.Scheme))
	alb.Subnets = t.subnets()
	alb.SecurityGroups = t.securityGroups(alb)
	t.unheardClasses(alb)
	t.origin(alb, "scheme", scheme.Origin)
	t.origin(alb, "addressType", address.Origin)
	t.origin(alb, "name", name.Origin)
	t.origin(alb, "coipPool", pool.Origin)
	ipam, from := t.ipamPool()
	alb.IPAMPool = ipam
	t.origin(alb, "ipamPool", from)
	return alb
}

// name is the name that is asked for. One that AWS would refuse is left out: a live load balancer
// has another anyway, and the others should not have to wait for a new one.
func (t *translation) name() merged[string] {
	return agree(t, t.members, "load-balancer-name", func(m *member) settings.Opt[string] {
		o := written(m.set.Name)
		if fault := naming.LoadBalancerNameFault(o.Value); o.Set && fault != "" {
			t.found.Add(finding.Finding{
				Object: m.ref, Field: fieldOn(m.ref, o.Origin), Reason: finding.AnnotationInvalid, Severity: finding.Error,
				Message: fmt.Sprintf("AWS does not take the name %q: %s; the load balancer gets a name of its own", o.Value, fault),
				Fix:     "correct the name",
			})
			return settings.Opt[string]{}
		}
		return o
	}, equal[string], of(t.liveALB(), func(lb *observed.LoadBalancer) string { return lb.Name }))
}

// ipamPool is the pool of public addresses: that of the first member's class, or else of annotations.
func (t *translation) ipamPool() (string, finding.Origin) {
	live := of(t.liveALB(), func(lb *observed.LoadBalancer) string { return lb.IPAMPool })
	const key = "ipv4IPAMPoolId"
	pool := func(c settings.Class) map[string]string {
		if c.IPAMPool == "" {
			return nil
		}
		return map[string]string{key: c.IPAMPool}
	}
	if first := t.members[0].set.Class.IPAMPool; first != "" {
		pool := t.classKey(t.members, "ipamConfiguration", key, first, pool, func(m *member) settings.Opt[map[string]string] {
			return settings.Opt[map[string]string]{Value: map[string]string{key: m.set.IPAMPool.Value}}
		}, live)
		return pool, t.members[0].set.Class.Origin
	}
	won := agree(t, t.members, "ipam-ipv4-pool-id", func(m *member) settings.Opt[string] { return written(m.set.IPAMPool) }, equal[string], live)
	return won.Value, won.Origin
}

func (t *translation) origin(alb *model.LoadBalancer, field string, o finding.Origin) {
	if o != (finding.Origin{}) {
		alb.Origins[field] = o
	}
}

// written takes an empty text for none.
func written(o settings.Opt[string]) settings.Opt[string] {
	if o.Value == "" {
		return settings.Opt[string]{}
	}
	return o
}

// capacityKey is the one key of the capacity annotation.
const capacityKey = "CapacityUnits"

// capacity is the reservation, nil if nobody speaks of one. Parameters of the first member's
// class decide alone; annotations are not even read then.
func (t *translation) capacity() (*int32, finding.Origin) {
	class := func(c settings.Class) map[string]string {
		if c.Capacity == nil {
			return nil
		}
		return map[string]string{capacityKey: fmt.Sprint(*c.Capacity)}
	}
	for _, m := range t.members {
		t.block(m, m.set.LoadBalancer.Capacity.Check(), !t.opt.NoCapacity && t.members[0].set.Class.Capacity == nil)
	}
	if t.opt.NoCapacity {
		return nil, finding.Origin{}
	}
	get := func(m *member) settings.Opt[map[string]string] { return m.set.LoadBalancer.Capacity }
	units := agreeKeys(t, t.members, "minimum-load-balancer-capacity", get, class, t.liveCapacity, equal[string])
	raw, ok := units[capacityKey]
	n, err := strconv.ParseInt(raw, 10, 32)
	if !ok || err != nil {
		return nil, finding.Origin{}
	}
	return new(int32(n)), askers(t.members, get, class)[0]
}

// subnetWish is one member's way to find subnets.
type subnetWish struct {
	ids  []string
	tags map[string][]string
}

// String shows the wish in conflicts.
func (w subnetWish) String() string {
	if len(w.tags) > 0 {
		return fmt.Sprintf("by tags %v", w.tags)
	}
	return strings.Join(w.ids, ",")
}

func (w subnetWish) same(o subnetWish) bool {
	return sameSet(w.ids, o.ids) && len(w.tags) == len(o.tags) && !slices.ContainsFunc(sortedKeys(w.tags), func(k string) bool {
		return !slices.Equal(w.tags[k], o.tags[k])
	})
}

func (t *translation) subnets() model.SubnetChoice {
	wish := agree(t, t.members, "subnets", func(m *member) settings.Opt[subnetWish] {
		c := m.set.Class
		from := c.Origin
		switch s := some(m.set.Subnets); {
		case len(c.SubnetIDs) > 0:
			from.Field = "spec.subnets.ids"
			return settings.Of(subnetWish{ids: c.SubnetIDs}, from)
		case len(c.SubnetTags) > 0:
			from.Field = "spec.subnets.tags"
			return settings.Of(subnetWish{tags: c.SubnetTags}, from)
		case s.Set:
			return settings.Of(subnetWish{ids: s.Value}, s.Origin)
		}
		return settings.Opt[subnetWish]{}
	}, subnetWish.same, func() incumbent[subnetWish] { return t.liveSubnets(t.liveALB(), false) })
	if !wish.Set || wish.kept {
		return model.SubnetsDiscovered{} // those that are live
	}
	return wish.Value.choice(wish.Origin)
}

// choice is the wish as the model has it.
func (w subnetWish) choice(from finding.Origin) model.SubnetChoice {
	if len(w.ids) > 0 {
		return model.SubnetsNamed{Refs: w.ids, Of: from}
	}
	return model.SubnetsTagged{Tags: w.tags, Of: from}
}

// givenGroups are the security groups that members ask for; unset, the load balancer gets a group of its
// own. Who names client ranges asks for such a group, and where it is live, it stays.
func (t *translation) givenGroups() settings.Opt[[]string] {
	var live incumbent[[]string]
	if t.live != nil {
		live = t.liveGroups(t.liveALB())
	}
	ranges := func(m *member) settings.Opt[[]string] {
		return settings.First(some(m.set.InboundCIDRs), some(m.set.PrefixLists))
	}
	given := agree(t, t.members, "security-groups", func(m *member) settings.Opt[[]string] {
		o := some(m.set.SecurityGroups)
		if o.Present() || !live.known || len(live.value) > 0 || !ranges(m).Set {
			return o
		}
		return settings.Of([]string(nil), ranges(m).Origin)
	}, slices.Equal, func() incumbent[[]string] { return live })
	if t.live == nil && given.Set && slices.ContainsFunc(t.members, func(m *member) bool { return ranges(m).Set }) {
		t.stack.Contested = true
	}
	if len(given.Value) == 0 {
		return settings.Opt[[]string]{}
	}
	return given.Opt
}

// securityGroups decides who guards the load balancer and from which group its targets see it.
func (t *translation) securityGroups(alb *model.LoadBalancer) model.GroupChoice {
	given := t.givenGroups()
	for _, m := range t.members {
		t.block(m, m.set.ManageBackendRules.Check(), given.Set)
	}
	backend := !t.opt.NoBackendGroup
	var sources []model.IngressRule
	for _, p := range t.ports {
		sources = append(sources, t.sources(p, alb.AddressType.HasIPv6(), !given.Set)...)
	}
	defer func() { t.stack.BackendGroup.Needed = t.peer != nil && t.peer.BackendGroup }()
	if given.Set {
		manage := agree(t, t.members, "manage-backend-security-group-rules", func(m *member) settings.Opt[bool] { return m.set.ManageBackendRules }, equal[bool],
			of(t.liveALB(), func(lb *observed.LoadBalancer) bool { return slices.Contains(lb.SecurityGroups, t.liveBackendGroup()) }))
		choice := model.GroupsGiven{Refs: given.Value, Of: given.Origin, Backend: manage.Or(t.opt.ManageBackendRules)}
		if choice.Backend && !backend {
			// Of a new load balancer nothing could reach its targets; the members that serve keep what is live.
			ref := t.refOf(manage.Origin)
			t.found.Add(finding.Finding{
				Object: ref, Field: fieldOn(ref, manage.Origin), Reason: finding.FeatureDisabled, Severity: finding.Error,
				Message: "rules of nodes and pods cannot be managed, since the shared backend security group is switched off; they are left alone",
				Fix:     "set manage-backend-security-group-rules to false and open the security groups of the targets yourself",
			})
			choice.Backend = false
		}
		if choice.Backend {
			t.peer = &model.Peer{BackendGroup: true}
		}
		return choice
	}
	t.peer = &model.Peer{BackendGroup: backend, ManagedGroup: !backend}
	return model.GroupsManaged{Backend: backend, Group: model.SecurityGroup{
		Name: naming.ManagedGroup(t.opt.Cluster, t.id), Description: naming.ManagedGroupDescription,
		Tags: assemble.Overlay(alb.Tags), Ingress: sources,
	}}
}
