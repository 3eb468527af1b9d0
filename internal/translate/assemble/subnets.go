package assemble

import (
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// subnetSetting is the value of a setting that selects subnets. ids has IDs or values of the Name tag. If ids is empty,
// tags selects the subnets.
type subnetSetting struct {
	ids  []string
	tags map[string][]string
}

// String returns the setting for messages about conflicts.
func (w subnetSetting) String() string {
	if len(w.tags) > 0 {
		return "by tags " + model.SubnetsTagged{Tags: w.tags}.Text()
	}
	return strings.Join(w.ids, ",")
}

func (w subnetSetting) equals(o subnetSetting) bool {
	return members.SameSet(w.ids, o.ids) && len(w.tags) == len(o.tags) && !slices.ContainsFunc(slices.Sorted(maps.Keys(w.tags)), func(k string) bool {
		return !slices.Equal(w.tags[k], o.tags[k])
	})
}

// subnetBuilder merges the settings that select subnets.
type subnetBuilder struct{ *Builder }

func (b subnetBuilder) mergeSubnets() model.SubnetChoice {
	chosen := members.MergeSetting(&b.Translation, b.Members, b.settingName("subnets"), func(m *members.Member) settings.Opt[subnetSetting] {
		c := m.Set.Class
		from := c.Origin
		switch s := settings.UnsetIfEmptyList(m.Set.Subnets); {
		case len(c.SubnetIDs) > 0:
			from.Field = "spec.subnets.ids"
			return settings.NewOpt(subnetSetting{ids: c.SubnetIDs}, from)
		case len(c.SubnetTags) > 0:
			from.Field = "spec.subnets.tags"
			return settings.NewOpt(subnetSetting{tags: c.SubnetTags}, from)
		case s.Fault != nil:
			return settings.Opt[subnetSetting]{Fault: s.Fault, Origin: s.Origin}
		case s.Set:
			return settings.NewOpt(subnetSetting{ids: s.Value}, s.Origin)
		case m.Set.SubnetTags.Set:
			return settings.NewOpt(subnetSetting{tags: m.Set.SubnetTags.Value}, m.Set.SubnetTags.Origin)
		}
		return settings.Opt[subnetSetting]{}
	}, subnetSetting.equals, func() members.LiveValue[subnetSetting] {
		return b.observedSubnets(b.LiveLoadBalancer(), b.Type == model.Network)
	})
	if !chosen.Set || chosen.RetainsObserved {
		return model.SubnetsDiscovered{} // an existing load balancer then keeps its subnets
	}
	return chosen.Value.subnetChoice(chosen.Origin)
}

// subnetChoice returns the setting as a model.SubnetChoice.
func (w subnetSetting) subnetChoice(from finding.Origin) model.SubnetChoice {
	if len(w.ids) > 0 {
		return model.SubnetsNamed{Refs: w.ids, Of: from}
	}
	return model.SubnetsTagged{Tags: w.tags, Of: from}
}

// observedSubnets returns the subnets of an existing load balancer, for comparison with a subnetSetting. nlb reports whether
// it is an NLB.
func (b subnetBuilder) observedSubnets(lb *observed.LoadBalancer, nlb bool) members.LiveValue[subnetSetting] {
	if lb == nil {
		return members.LiveValue[subnetSetting]{}
	}
	is := func(w subnetSetting) bool {
		if len(w.tags) == 0 && !slices.ContainsFunc(w.ids, func(s string) bool { return !network.IsSubnetID(s) }) {
			return members.SameSet(w.ids, lb.Subnets)
		}
		q := model.SubnetQuestion(w.subnetChoice(finding.Origin{}), lb.Scheme, nlb)
		answer, answered := b.Live.Facts.Subnets[q.Key()]
		if !b.RequireFact(q, answered) {
			return false
		}
		chosen, fault := network.ChooseSubnets(network.SubnetRequest{
			Choice: w.subnetChoice(finding.Origin{}), Scheme: lb.Scheme, AddressType: lb.AddressType, ALB: !nlb, Cluster: b.Cluster, SingleSubnet: true, Live: lb.Subnets,
		}, answer)
		return fault == nil && members.SameSet(chosen.IDs, lb.Subnets)
	}
	return members.LiveValue[subnetSetting]{Known: true, Matches: is, Value: subnetSetting{ids: lb.Subnets}}
}
