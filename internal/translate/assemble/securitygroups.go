package assemble

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// securityGroupBuilder chooses the security groups of load balancers.
type securityGroupBuilder struct{ *Builder }

// namedSecurityGroups returns the security groups that members name. If they name none, the load balancer gets a managed
// security group. If the existing load balancer has a managed security group, a member that sets CIDRs or prefix lists
// of clients and no security groups counts as a member that wants the managed security group.
func (b securityGroupBuilder) namedSecurityGroups() settings.Opt[[]string] {
	var live members.LiveValue[[]string]
	if b.Live != nil {
		live = b.liveSecurityGroups(b.LiveLoadBalancer())
	}
	ranges := func(m *members.Member) settings.Opt[[]string] {
		return settings.FirstPresent(settings.UnsetIfEmptyList(m.Set.InboundCIDRs), settings.UnsetIfEmptyList(m.Set.PrefixLists))
	}
	given := members.MergeSetting(&b.Translation, b.Members, b.settingName("security-groups"), func(m *members.Member) settings.Opt[[]string] {
		o := settings.UnsetIfEmptyList(m.Set.SecurityGroups)
		if o.IsPresent() || !live.Known || len(live.Value) > 0 || !ranges(m).Set {
			return o
		}
		return settings.NewOpt([]string(nil), ranges(m).Origin)
	}, slices.Equal, func() members.LiveValue[[]string] { return live })
	if b.Live == nil && given.Set && slices.ContainsFunc(b.Members, func(m *members.Member) bool { return ranges(m).Set }) {
		b.Stack.Contested = true
	}
	if len(given.Value) == 0 {
		return settings.Opt[[]string]{}
	}
	return given.Opt
}

// securityGroups returns the security groups of the load balancer, and sets Peer to the security group that the rules of
// targets admit.
func (b securityGroupBuilder) securityGroups(alb *model.LoadBalancer) model.SecurityGroupChoice {
	given := b.namedSecurityGroups()
	for _, m := range b.Members {
		b.HoldMember(m, m.Set.ManageBackendRules.Check(), given.Set)
		b.HoldMember(m, m.Set.PathMTUDiscovery.Check(), false) // ignored, as in aws-load-balancer-controller
	}
	backend := !b.NoBackendSecurityGroup
	var sources []model.IngressRule
	for _, p := range b.Ports {
		sources = append(sources, clientBuilder(b).ingressRules(p, alb.AddressType.HasIPv6(), !given.Set)...)
	}
	defer func() { b.Stack.BackendSecurityGroup.Needed = b.Peer != nil && b.Peer.BackendSecurityGroup }()
	if given.Set {
		live := b.liveBackendSecurityGroup()
		manage := members.MergeSetting(&b.Translation, b.Members, b.settingName("manage-backend-security-group-rules"), func(m *members.Member) settings.Opt[bool] { return m.Set.ManageBackendRules }, members.Equal[bool], b.liveBackendSecurityGroup)
		choice := model.SecurityGroupsGiven{Refs: given.Value, Of: given.Origin, Backend: manage.ValueOr(b.ManageBackendRules)}
		if choice.Backend && !backend {
			// Without rules of nodes and pods, a new load balancer cannot reach its targets. An existing load balancer keeps
			// the shared backend security group and these rules.
			b.Stack.Contested = true
			choice.Backend = live.Value || live.Unavailable
			now := "no rules are added"
			if choice.Backend {
				now = "the load balancer keeps this security group and its rules"
			}
			ref := b.MemberOf(manage.Origin).Ref
			b.Found.Add(finding.Finding{
				Object: ref, Field: members.FieldForObject(ref, manage.Origin), Reason: finding.FeatureDisabled, Severity: finding.Error,
				Message: "the rules in security groups of nodes and pods cannot be managed, because the shared backend security group is disabled; " + now,
				Fix:     "set " + b.settingName("manage-backend-security-group-rules") + " to false and open the security groups of the targets yourself",
			})
		}
		mayManage := func(m *members.Member) bool {
			return m.Set.ManageBackendRules.Value || m.Set.ManageBackendRules.Fault != nil
		}
		if live.Unavailable && slices.ContainsFunc(b.Members, mayManage) {
			choice.Backend = true // the plan holds the security groups, because the shared one may be among them
		}
		if choice.Backend {
			b.Peer = &model.Peer{BackendSecurityGroup: true}
		}
		return choice
	}
	b.Peer = &model.Peer{BackendSecurityGroup: backend, ManagedSecurityGroup: !backend}
	return model.SecurityGroupsManaged{Backend: backend, Group: model.SecurityGroup{
		Name: b.managedSecurityGroupName(), Description: naming.ManagedSecurityGroupDescription,
		Tags: MergeMaps(alb.Tags), Ingress: sources,
	}}
}

// liveBackendSecurityGroup returns true as live value if the existing load balancer has the shared backend security group.
// The value is unavailable if the ID of this security group is unknown, because the security groups of the cluster could not
// be read.
func (b securityGroupBuilder) liveBackendSecurityGroup() members.LiveValue[bool] {
	lb, id := b.LiveLoadBalancer(), b.BackendSecurityGroupID()
	if lb != nil && id == "" && b.Live.Facts.Fault(model.AskSecurityGroups{}) != nil {
		return members.LiveValue[bool]{Unavailable: true}
	}
	return members.LiveField(lb, func(lb *observed.LoadBalancer) bool { return slices.Contains(lb.SecurityGroups, id) })()
}

// liveSecurityGroups returns the security groups of an existing load balancer, for comparison with the security groups
// that members name. The shared backend security group is left out. An empty list means the managed security group.
func (b securityGroupBuilder) liveSecurityGroups(lb *observed.LoadBalancer) members.LiveValue[[]string] {
	if lb == nil {
		return members.LiveValue[[]string]{}
	}
	if all := (model.AskSecurityGroups{}); b.Live.Facts.Fault(all) != nil {
		// It is not known which security group is the managed security group.
		return members.LiveValue[[]string]{Known: true, Matches: func([]string) bool { return b.RequireFact(all, false) }, Value: lb.SecurityGroups}
	}
	var own, others []string
	backend := b.BackendSecurityGroupID()
	for _, id := range lb.SecurityGroups {
		switch {
		case slices.ContainsFunc(b.Live.SecurityGroups, func(g observed.SecurityGroup) bool { return g.ID == id }):
			own = append(own, id)
		case id != backend:
			others = append(others, id)
		}
	}
	managed := len(own) > 0
	is := func(refs []string) bool {
		if managed || len(refs) == 0 {
			return managed && len(refs) == 0
		}
		q := model.SecurityGroupQuestion(model.SecurityGroupsGiven{Refs: refs})
		answer, answered := b.Live.Facts.SecurityGroups[q.Key()]
		if !b.RequireFact(q, answered) {
			return false
		}
		ids := slices.Clone(answer.ByID)
		for _, ref := range refs {
			ids = append(ids, answer.ByName[ref]...)
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == backend })
		return len(answer.Missing) == 0 && members.SameSet(ids, others)
	}
	if managed {
		others = nil
	}
	return members.LiveValue[[]string]{Known: true, Matches: is, Value: others}
}
