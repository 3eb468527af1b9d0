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
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// loadBalancer merges what the members say about the load balancer as a whole.
func (t *translation) loadBalancer() *model.ALB {
	first := t.members[0].set.Class
	scheme, unsureScheme := guarded(t, "scheme", func(m *member) settings.Opt[model.Scheme] { return m.set.Scheme }, equal[model.Scheme])
	address, unsureAddress := guarded(t, "ip-address-type", func(m *member) settings.Opt[model.AddressType] { return m.set.AddressType }, equal[model.AddressType])
	pool := agree(t, t.members, "customer-owned-ipv4-pool", func(m *member) settings.Opt[string] { return m.set.CoIPPool }, equal[string])
	alb := &model.ALB{
		Scheme:      scheme.Or(t.opt.DefaultScheme),
		Unsure:      model.Unsure{Scheme: unsureScheme, AddressType: unsureAddress, IPAMPool: t.firstUnclassed(nil)},
		AddressType: address.Or(model.IPv4),
		CoIPPool:    pool.Value,
		IPAMPool:    first.IPAMPool,
		Capacity:    t.capacity(first),
		Tags:        t.sharedTags(t.members),
		Origins:     map[string]finding.Origin{},
	}
	if !t.firstUnclassed(nil) {
		alb.Attributes = agreeKeys(t, t.members, "load-balancer-attributes", func(m *member) settings.Opt[map[string]string] {
			return m.set.LoadBalancer.Attributes
		}, first.Attributes)
	}
	if alb.IPAMPool == "" {
		alb.IPAMPool = agree(t, t.members, "ipam-ipv4-pool-id", func(m *member) settings.Opt[string] {
			return written(m.set.IPAMPool)
		}, equal[string]).Value
	}
	name := t.name()
	alb.Name = cmp.Or(name.Value, naming.LoadBalancer(t.opt.Cluster, t.id, alb.Scheme))
	alb.Subnets, alb.Unsure.Subnets = t.subnets()
	alb.SecurityGroups = t.securityGroups(alb)
	t.unheardClasses(alb)
	t.origin(alb, "scheme", scheme.Origin)
	t.origin(alb, "addressType", address.Origin)
	t.origin(alb, "name", name.Origin)
	t.origin(alb, "coipPool", pool.Origin)
	return alb
}

// name is the name that is asked for. One that AWS would refuse is left out: a live load balancer
// has another anyway, and the others should not have to wait for a new one.
func (t *translation) name() settings.Opt[string] {
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
	}, equal[string])
}

func (t *translation) origin(alb *model.ALB, field string, o finding.Origin) {
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

// capacity is the reservation, nil if nobody speaks of one. Parameters of the first member's
// class decide alone; annotations are not even read then.
func (t *translation) capacity(class settings.Class) *int32 {
	for _, m := range t.members {
		t.block(m, m.set.LoadBalancer.Capacity.Check(), !t.opt.NoCapacity && class.Capacity == nil)
	}
	if t.opt.NoCapacity || t.firstUnclassed(nil) {
		return nil
	}
	if class.Capacity != nil {
		return class.Capacity
	}
	units := agreeKeys(t, t.members, "minimum-load-balancer-capacity", func(m *member) settings.Opt[map[string]string] {
		return m.set.LoadBalancer.Capacity
	}, nil)
	raw, ok := units["CapacityUnits"]
	n, err := strconv.ParseInt(raw, 10, 32)
	if !ok || err != nil {
		return nil
	}
	return new(int32(n))
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

func (t *translation) subnets() (_ model.SubnetChoice, unsure bool) {
	wish, unsure := guarded(t, "subnets", func(m *member) settings.Opt[subnetWish] {
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
	}, subnetWish.same)
	switch {
	case !wish.Set:
		return model.SubnetsDiscovered{}, unsure
	case len(wish.Value.ids) > 0:
		return model.SubnetsNamed{Refs: wish.Value.ids, Of: wish.Origin}, unsure
	}
	return model.SubnetsTagged{Tags: wish.Value.tags, Of: wish.Origin}, unsure
}

// securityGroups decides who guards the load balancer and from which group its targets see it.
func (t *translation) securityGroups(alb *model.ALB) model.GroupChoice {
	given := agree(t, t.members, "security-groups", func(m *member) settings.Opt[[]string] { return some(m.set.SecurityGroups) }, slices.Equal)
	for _, m := range t.members {
		t.block(m, m.set.ManageBackendRules.Check(), given.Set)
	}
	backend := !t.opt.NoBackendGroup
	var sources []model.IngressRule
	var kept []int32
	for _, p := range t.ports {
		rules, unknown := t.sources(p, alb.MayHaveIPv6(), !given.Set)
		sources = append(sources, rules...)
		if unknown {
			kept = append(kept, p.number)
		}
	}
	defer func() { t.stack.BackendGroup.Needed = t.peer != nil && t.peer.BackendGroup }()
	if given.Set {
		manage, unsure := guarded(t, "manage-backend-security-group-rules", func(m *member) settings.Opt[bool] { return m.set.ManageBackendRules }, equal[bool])
		choice := model.GroupsGiven{
			Refs: given.Value, Of: given.Origin,
			Backend: manage.Or(t.opt.ManageBackendRules) || unsure && backend, UnsureBackend: unsure && backend,
		}
		if choice.Backend && !backend {
			m := t.members[0]
			t.found.Add(finding.Finding{
				Object: m.ref, Field: fieldOn(m.ref, manage.Origin), Reason: finding.FeatureDisabled,
				Message: "rules of nodes and pods cannot be managed, since the shared backend security group is switched off",
				Fix:     "set manage-backend-security-group-rules to false", Blocks: finding.BlocksStack,
			})
		}
		if choice.Backend {
			t.peer = &model.Peer{BackendGroup: true}
		}
		return choice
	}
	t.peer = &model.Peer{BackendGroup: backend, ManagedGroup: !backend}
	return model.GroupsManaged{Backend: backend, Group: model.SecurityGroup{
		Name: naming.ManagedGroup(t.opt.Cluster, t.id), Description: naming.ManagedGroupDescription,
		Tags: assemble.Overlay(alb.Tags), Ingress: sources, KeepPorts: kept,
	}}
}
