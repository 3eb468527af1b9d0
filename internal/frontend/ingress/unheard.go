package ingress

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// unheardClasses tells members whose classes say something about the load balancer that only the
// class of the first member can say.
func (t *translation) unheardClasses(alb *model.LoadBalancer) {
	capacity := func(units *int32) map[string]string {
		if units == nil || t.opt.NoCapacity {
			return nil
		}
		return map[string]string{"capacityUnits": fmt.Sprint(*units)}
	}
	pool := func(id string) map[string]string { return map[string]string{"ipv4IPAMPoolId": id} }
	t.unheard(t.members, "spec.loadBalancerAttributes", func(c settings.Class) map[string]string { return c.Attributes }, alb.Attributes, func() map[string]string { return t.liveAttributes(t.liveALB()) })
	t.unheard(t.members, "spec.minimumLoadBalancerCapacity", func(c settings.Class) map[string]string { return capacity(c.Capacity) }, capacity(alb.Capacity), nil)
	t.unheard(t.members, "spec.ipamConfiguration", func(c settings.Class) map[string]string { return pool(c.IPAMPool) }, pool(alb.IPAMPool), nil)
}

// unheard does so for one field of class parameters; done is the desired state. What is live anyway is not
// worth telling.
func (t *translation) unheard(members []*member, field string, of func(settings.Class) map[string]string, done map[string]string, live func() map[string]string) {
	for _, m := range members[1:] {
		says := of(m.set.Class)
		for _, k := range sortedKeys(says) {
			if says[k] == "" || says[k] == done[k] {
				continue
			}
			t.stack.Contested = true
			if live != nil && t.live != nil {
				if v, ok := live()[k]; ok && plan.SameAttribute(v, says[k]) {
					continue
				}
			}
			from := m.set.Class.Origin
			from.Field = field
			t.found.Add(finding.Finding{
				Object: m.ref, Field: fieldOn(m.ref, from), Reason: finding.AnnotationConflict,
				Message: fmt.Sprintf("%s=%s has no effect, since only the class of %s counts, which comes first", k, says[k], members[0].ref),
				Fix:     "say it in that class, or remove it",
			})
		}
	}
}
