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

// groupBuilder builds the choice of security groups.
type groupBuilder struct{ *Builder }

// givenGroups returns the security groups that members ask for; unset, the load balancer gets a group of its
// own. Who names client ranges asks for such a group, and where it is live, it stays.
func (b groupBuilder) givenGroups() settings.Opt[[]string] {
	var live members.LiveValue[[]string]
	if b.Live != nil {
		live = b.liveGroups(b.LiveLoadBalancer())
	}
	ranges := func(m *members.Member) settings.Opt[[]string] {
		return settings.First(settings.NonEmptyList(m.Set.InboundCIDRs), settings.NonEmptyList(m.Set.PrefixLists))
	}
	given := members.Agree(&b.Translation, b.Members, b.name("security-groups"), func(m *members.Member) settings.Opt[[]string] {
		o := settings.NonEmptyList(m.Set.SecurityGroups)
		if o.Present() || !live.Known || len(live.Value) > 0 || !ranges(m).Set {
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

// securityGroups decides who guards the load balancer and from which group its targets see it.
func (b groupBuilder) securityGroups(alb *model.LoadBalancer) model.GroupChoice {
	given := b.givenGroups()
	for _, m := range b.Members {
		b.HoldMember(m, m.Set.ManageBackendRules.Check(), given.Set)
	}
	backend := !b.NoBackendGroup
	var sources []model.IngressRule
	for _, p := range b.Ports {
		sources = append(sources, clientBuilder(b).sources(p, alb.AddressType.HasIPv6(), !given.Set)...)
	}
	defer func() { b.Stack.BackendGroup.Needed = b.Peer != nil && b.Peer.BackendGroup }()
	if given.Set {
		manage := members.Agree(&b.Translation, b.Members, b.name("manage-backend-security-group-rules"), func(m *members.Member) settings.Opt[bool] { return m.Set.ManageBackendRules }, members.Equal[bool],
			members.LiveField(b.LiveLoadBalancer(), func(lb *observed.LoadBalancer) bool { return slices.Contains(lb.SecurityGroups, b.LiveBackendGroup()) }))
		choice := model.GroupsGiven{Refs: given.Value, Of: given.Origin, Backend: manage.Or(b.ManageBackendRules)}
		if choice.Backend && !backend {
			// Of a new load balancer nothing could reach its targets; the members that serve keep what is live.
			ref := b.MemberOf(manage.Origin).Ref
			b.Found.Add(finding.Finding{
				Object: ref, Field: members.FieldOn(ref, manage.Origin), Reason: finding.FeatureDisabled, Severity: finding.Error,
				Message: "rules of nodes and pods cannot be managed, since the shared backend security group is switched off; they are left alone",
				Fix:     "set " + b.name("manage-backend-security-group-rules") + " to false and open the security groups of the targets yourself",
			})
			choice.Backend = false
		}
		if choice.Backend {
			b.Peer = &model.Peer{BackendGroup: true}
		}
		return choice
	}
	b.Peer = &model.Peer{BackendGroup: backend, ManagedGroup: !backend}
	return model.GroupsManaged{Backend: backend, Group: model.SecurityGroup{
		Name: b.managedGroupName(), Description: naming.ManagedGroupDescription,
		Tags: Overlay(alb.Tags), Ingress: sources,
	}}
}

// liveGroups compares what is asked for with the security groups of a live load balancer. No group at
// all stands for the managed one.
func (b groupBuilder) liveGroups(lb *observed.LoadBalancer) members.LiveValue[[]string] {
	if lb == nil {
		return members.LiveValue[[]string]{}
	}
	if all := (model.AskSecurityGroups{}); b.Live.Facts.Fault(all) != nil {
		// Which of them is the managed one is not known.
		return members.LiveValue[[]string]{Known: true, Matches: func([]string) bool { return b.Compare(all, false) }, Value: lb.SecurityGroups}
	}
	var own, others []string
	backend := b.LiveBackendGroup()
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
		q := model.GroupQuestion(model.GroupsGiven{Refs: refs})
		answer, answered := b.Live.Facts.Groups[q.Key()]
		if !b.Compare(q, answered) {
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
