package handover

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestAdoptionsWithoutTags checks when a load balancer without adoption tags is treated as taken over. It must have the load
// balancer name of the other stack, the status of a member of that stack must have its DNS name, and the Gateway must still
// request it. A name or an annotation alone is not sufficient, because users can set both.
func TestAdoptionsWithoutTags(t *testing.T) {
	from := model.StackID{Kind: model.Ingress, Name: "edge"}
	gateway := model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}
	member := model.Member{Ref: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "a"}, Claimed: true}
	newcomer := model.Member{Ref: finding.Ref{Kind: "Ingress", Namespace: "evil", Name: "x"}, Claimed: true}
	ingresses := model.Stack{ID: from, LoadBalancer: &model.LoadBalancer{Name: "k8s-edge"}, Members: []model.Member{member, newcomer}}
	by := model.Stack{ID: gateway, LoadBalancer: &model.LoadBalancer{Name: "k8s-own"}, Members: []model.Member{{Claimed: true}}, Adopts: &model.Adoption{From: from}}
	plain := by
	plain.Adopts = nil
	of := func(name string, tags map[string]string) observed.LoadBalancer {
		return observed.LoadBalancer{ARN: name, Name: name, DNSName: name + ".elb", ResourceID: model.LoadBalancerID, Tags: tags}
	}
	taken, other := of("k8s-edge", naming.ResourceTags("rig", gateway, model.LoadBalancerID, nil)), of("k8s-mine", naming.ResourceTags("rig", from, model.LoadBalancerID, nil))
	computed := of(naming.IngressLoadBalancerName("rig", from, model.Internal), taken.Tags)
	computed.Scheme = model.Internal
	for name, c := range map[string]struct {
		lb                observed.LoadBalancer
		shown             string
		ingresses         model.Stack
		gateway           model.Stack
		byGateway, byItem RelationKind
	}{
		"as it was":             {taken, "k8s-edge.elb", ingresses, by, TakesOver, HandedOver},
		"another name":          {of("k8s-own", taken.Tags), "k8s-own.elb", ingresses, by, HasOwnLoadBalancer, HandedOver},
		"no status shows it":    {taken, "", ingresses, by, HasOwnLoadBalancer, Unrelated},
		"it shows another":      {taken, "k8s-mine.elb", ingresses, by, HasOwnLoadBalancer, Unrelated},
		"no object is left":     {computed, "", model.Stack{ID: from}, by, Unrelated, Unrelated},
		"the Gateway is silent": {taken, "k8s-edge.elb", ingresses, plain, Unrelated, Unrelated},
	} {
		shown := func(ref finding.Ref) string {
			if ref == member.Ref {
				return c.shown
			}
			return ""
		}
		translate := func(id model.StackID) (model.Stack, bool, error) {
			if id == gateway {
				return c.gateway, true, nil
			}
			return c.ingresses, true, nil
		}
		g, err := Relate(c.gateway, observed.Stack{LoadBalancers: []observed.LoadBalancer{c.lb}}, translate, shown)
		if err != nil || g.Kind != c.byGateway || g.TagsMissing != (g.Kind == TakesOver) {
			t.Errorf("%s: the Gateway is %+v, %v", name, g, err)
		}
		if g.TagsMissing && (len(g.OtherStack.Members) != 1 || g.OtherStack.Members[0].Ref != member.Ref) {
			t.Errorf("%s: they may have it back: %v", name, g.OtherStack.Members)
		}
		seen := observed.Stack{Facts: observed.Facts{Adopter: &observed.Adopter{Stack: gateway, LoadBalancer: c.lb, NotTagged: true}}}
		if i, err := Relate(c.ingresses, seen, translate, shown); err != nil || i.Kind != c.byItem {
			t.Errorf("%s: the Ingresses are %+v, %v", name, i, err)
		}
		seen.LoadBalancers = []observed.LoadBalancer{other}
		if i, err := Relate(c.ingresses, seen, translate, shown); err != nil || i.Kind != Unrelated {
			t.Errorf("%s: with another load balancer they are %+v, %v", name, i, err)
		}
		if g = g.AfterObservation(c.gateway, observed.Stack{LoadBalancers: []observed.LoadBalancer{c.lb, other}}); g.TagsMissing {
			t.Errorf("%s: the Ingresses have another load balancer, and the Gateway is %+v", name, g)
		}
	}
}
