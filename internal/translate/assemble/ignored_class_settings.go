package assemble

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// classBuilder determines which class parameters have no effect.
type classBuilder struct{ *Builder }

// ignoredClassSettings reports to members whose classes say something about the load balancer that only the
// class of the first member can say.
func (b classBuilder) ignoredClassSettings(alb *model.LoadBalancer) {
	capacity := func(units *int32) map[string]string {
		if units == nil || b.NoCapacity {
			return nil
		}
		return map[string]string{"capacityUnits": fmt.Sprint(*units)}
	}
	pool := func(id string) map[string]string { return map[string]string{"ipv4IPAMPoolId": id} }
	b.ignoredClassSetting(b.Members, "spec.loadBalancerAttributes", func(c settings.Class) map[string]string { return c.Attributes }, alb.Attributes, func() map[string]string { return b.LiveAttributes(b.LiveLoadBalancer()) })
	b.ignoredClassSetting(b.Members, "spec.minimumLoadBalancerCapacity", func(c settings.Class) map[string]string { return capacity(c.Capacity) }, capacity(alb.Capacity), nil)
	b.ignoredClassSetting(b.Members, "spec.ipamConfiguration", func(c settings.Class) map[string]string { return pool(c.IPAMPool) }, pool(alb.IPAMPool), nil)
}

// ignoredClassSetting does so for one field of class parameters; done is the desired state. What is live anyway is not
// worth telling.
func (b classBuilder) ignoredClassSetting(sharing []*members.Member, field string, of func(settings.Class) map[string]string, done map[string]string, live func() map[string]string) {
	for _, m := range sharing[1:] {
		says := of(m.Set.Class)
		for _, k := range slices.Sorted(maps.Keys(says)) {
			if says[k] == "" || says[k] == done[k] {
				continue
			}
			b.Stack.Contested = true
			if live != nil && b.Live != nil {
				if v, ok := live()[k]; ok && equal.SameAttribute(v, says[k]) {
					continue
				}
			}
			from := m.Set.Class.Origin
			from.Field = field
			b.Found.Add(finding.Finding{
				Object: m.Ref, Field: members.FieldOn(m.Ref, from), Reason: finding.AnnotationConflict,
				Message: fmt.Sprintf("%s=%s has no effect, since only the class of %s counts, which comes first", k, says[k], sharing[0].Ref),
				Fix:     "say it in that class, or remove it",
			})
		}
	}
}
