package handover

import (
	"maps"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

var (
	edgeIngressGroup = model.StackID{Kind: model.Ingress, Name: "edge"}
	edgeGateway      = model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}
)

// requestingGateway returns the desired state of a Gateway that adopts the load balancer of the IngressGroup "edge". edit
// may change it; it may be nil.
func requestingGateway(edit func(*model.Stack)) model.Stack {
	out := model.Stack{
		ID: edgeGateway, LoadBalancer: &model.LoadBalancer{}, Adopts: &model.Adoption{From: edgeIngressGroup},
		Members: []model.Member{{Ref: finding.Ref{Kind: "Gateway", Namespace: "shop", Name: "edge"}}},
	}
	if edit != nil {
		edit(&out)
	}
	return out
}

// servingIngressGroup returns the desired state of the IngressGroup "edge" with one member.
func servingIngressGroup() model.Stack {
	return model.Stack{ID: edgeIngressGroup, LoadBalancer: &model.LoadBalancer{}, Members: []model.Member{{Ref: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}}}}
}

// tagsOf returns the tags of a resource that belongs to all of the given stacks. resource is its resource id.
func tagsOf(resource string, of ...model.StackID) map[string]string {
	out := map[string]string{}
	for _, id := range of {
		out[naming.StackTag(id.Kind)], out[naming.ResourceTag(id.Kind)] = naming.StackTagValue(id), resource
	}
	return out
}

// observedLoadBalancer returns an observed state with a load balancer that has the tags of the given stacks. If made is not
// zero, the load balancer also has the tags that record an adoption from the stack made.
func observedLoadBalancer(made model.StackID, of ...model.StackID) observed.Stack {
	lb := observed.LoadBalancer{ResourceID: model.LoadBalancerID, Tags: tagsOf(model.LoadBalancerID, of...)}
	if made.Kind != "" {
		maps.Copy(lb.Tags, naming.AdoptedTags(made, []string{"shop"}))
	}
	return observed.Stack{LoadBalancers: []observed.LoadBalancer{lb}}
}

// TestStateOf checks the state of a handover for different desired states, tags and findings.
func TestStateOf(t *testing.T) {
	t.Parallel()
	dryRun := func(s *model.Stack) { s.DryRun = true }
	silent := func(s *model.Stack) { s.Adopts = nil }
	held := func(s *model.Stack) { s.LoadBalancer, s.Held.AllResources = nil, true }
	none := model.Stack{ID: edgeIngressGroup}
	refusal := finding.List{{Reason: finding.AdoptionRefused, Severity: finding.Error}}
	with := func(have observed.Stack, edit func(*observed.Stack)) observed.Stack {
		edit(&have)
		return have
	}
	for name, tc := range map[string]struct {
		seen StateFacts
		want State
	}{
		"the Gateway asks for nothing":                     {StateFacts{Gateway: requestingGateway(silent), Other: servingIngressGroup(), Have: observedLoadBalancer(model.StackID{}, edgeIngressGroup)}, StateNotRequested},
		"the Gateway asks for another stack":               {StateFacts{Gateway: requestingGateway(func(s *model.Stack) { s.Adopts.From.Name = "b" }), Other: servingIngressGroup()}, StateNotRequested},
		"planned":                                          {StateFacts{Gateway: requestingGateway(dryRun), Other: servingIngressGroup(), Have: observedLoadBalancer(model.StackID{}, edgeIngressGroup)}, StateShadow},
		"planned, with something in the way":               {StateFacts{Gateway: requestingGateway(dryRun), Other: servingIngressGroup(), Findings: refusal}, StateShadow},
		"planned, and nothing of the Gateway can be built": {StateFacts{Gateway: requestingGateway(func(s *model.Stack) { dryRun(s); held(s) }), Other: servingIngressGroup()}, StateShadow},
		"something is in the way":                          {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: observedLoadBalancer(model.StackID{}, edgeIngressGroup), Findings: refusal}, StateRefused},
		"nothing of the Gateway can be built":              {StateFacts{Gateway: requestingGateway(held), Other: servingIngressGroup()}, StateRefused},
		"the Gateway has one of its own":                   {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: observedLoadBalancer(model.StackID{}, edgeGateway)}, StateRefused},
		"a difference that is consented to": {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: observedLoadBalancer(model.StackID{}, edgeIngressGroup),
			Findings: finding.List{{Reason: finding.AdoptionDiffers, Severity: finding.Warning}}}, StateAdopting},
		"nothing is in the way":       {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: observedLoadBalancer(model.StackID{}, edgeIngressGroup)}, StateAdopting},
		"both tags":                   {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeIngressGroup, edgeGateway)}, StateAdopting},
		"both tags, and members gone": {StateFacts{Gateway: requestingGateway(nil), Other: none, Have: observedLoadBalancer(edgeIngressGroup, edgeIngressGroup, edgeGateway)}, StateAdopting},
		"a target group is the other's": {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: with(observedLoadBalancer(edgeIngressGroup, edgeGateway), func(s *observed.Stack) {
			s.TargetGroups = []observed.TargetGroup{{Tags: tagsOf("a", edgeIngressGroup)}}
		})}, StateAdopting},
		"a security group is the other's": {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: with(observedLoadBalancer(edgeIngressGroup, edgeGateway), func(s *observed.Stack) {
			s.SecurityGroups = []observed.SecurityGroup{{Tags: tagsOf("a", edgeIngressGroup)}}
		})}, StateAdopting},
		"a binding has labels of the other's, which anybody may write": {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: with(observedLoadBalancer(edgeIngressGroup, edgeGateway), func(s *observed.Stack) {
			s.Bindings = []observed.Binding{{Labels: naming.StackLabels(edgeIngressGroup)}}
		})}, StateAdopted},
		"all is the Gateway's":                               {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateAdopted},
		"all is the Gateway's, which is refused what is new": {StateFacts{Gateway: requestingGateway(nil), Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway), Findings: refusal}, StateAdopted},
		"all is the Gateway's, and its class is gone":        {StateFacts{Gateway: model.Stack{ID: edgeGateway, Held: model.HeldParts{AllResources: true}}, Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateAdopted},
		"members cannot be built":                            {StateFacts{Gateway: requestingGateway(nil), Other: model.Stack{ID: edgeIngressGroup, Held: model.HeldParts{AllResources: true}}, Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateAdopted},
		"members are leaving":                                {StateFacts{Gateway: requestingGateway(nil), Other: model.Stack{ID: edgeIngressGroup, Leaving: servingIngressGroup().Members}, Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateAdopted},
		"members are gone":                                   {StateFacts{Gateway: requestingGateway(nil), Other: none, Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateReleased},
		"members are gone, and the Gateway is planned again": {StateFacts{Gateway: requestingGateway(dryRun), Other: none, Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateReleased},
		"planned again":                                      {StateFacts{Gateway: requestingGateway(dryRun), Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateGivingBack},
		"planned again, in the middle of adopting":           {StateFacts{Gateway: requestingGateway(dryRun), Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeIngressGroup, edgeGateway)}, StateGivingBack},
		"withdrawn, and no member may have it back":          {StateFacts{Gateway: requestingGateway(silent), Other: withMembersInNewNamespace(servingIngressGroup()), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateAdopted},
		"the annotation is removed":                          {StateFacts{Gateway: requestingGateway(silent), Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateGivingBack},
		"the annotation names another stack":                 {StateFacts{Gateway: requestingGateway(func(s *model.Stack) { s.Adopts = &model.Adoption{From: model.StackID{Kind: model.Ingress, Name: "b"}} }), Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateGivingBack},
		"the Gateway is deleted":                             {StateFacts{Gateway: model.Stack{ID: edgeGateway}, Other: servingIngressGroup(), Have: observedLoadBalancer(edgeIngressGroup, edgeGateway)}, StateGivingBack},
		"given back, but for the finalizer":                  {StateFacts{Gateway: requestingGateway(func(s *model.Stack) { dryRun(s); s.Members[0].Claimed = true }), Other: servingIngressGroup(), Have: observedLoadBalancer(model.StackID{}, edgeIngressGroup)}, StateGivingBack},
	} {
		if got := StateOf(tc.seen); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
