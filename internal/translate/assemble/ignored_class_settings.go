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

// classSettingReporter reports settings in class parameters that have no effect.
type classSettingReporter struct{ *Builder }

// reportIgnoredSettings reports load-balancer-wide settings in class parameters that have no effect, because only the
// class of the first member decides these settings. The findings are about members with other classes.
func (b classSettingReporter) reportIgnoredSettings(alb *model.LoadBalancer) {
	capacity := func(units *int32) map[string]string {
		if units == nil || b.NoCapacityReservations {
			return nil
		}
		return map[string]string{"capacityUnits": fmt.Sprint(*units)}
	}
	pool := func(id string) map[string]string { return map[string]string{"ipv4IPAMPoolId": id} }
	b.reportIgnoredSetting(b.Members, "spec.loadBalancerAttributes", func(c settings.Class) map[string]string { return c.Attributes }, alb.Attributes, func() map[string]string { return b.LiveAttributes(b.LiveLoadBalancer()) })
	b.reportIgnoredSetting(b.Members, "spec.minimumLoadBalancerCapacity", func(c settings.Class) map[string]string { return capacity(c.Capacity) }, capacity(alb.Capacity), nil)
	b.reportIgnoredSetting(b.Members, "spec.ipamConfiguration", func(c settings.Class) map[string]string { return pool(c.IPAMPool) }, pool(alb.IPAMPool), nil)
}

// reportIgnoredSetting implements reportIgnoredSettings for one field of class parameters. of returns the values of a
// class by key. Values that are equal to the desired value or the value in AWS are not reported. live may be nil.
func (b classSettingReporter) reportIgnoredSetting(sharing []*members.Member, field string, of func(settings.Class) map[string]string, desired map[string]string, live func() map[string]string) {
	for _, m := range sharing[1:] {
		values := of(m.Set.Class)
		for _, k := range slices.Sorted(maps.Keys(values)) {
			if values[k] == "" || values[k] == desired[k] {
				continue
			}
			b.Stack.Contested = true
			if live != nil && b.Live != nil {
				if v, ok := live()[k]; ok && equal.SameAttribute(v, values[k]) {
					continue
				}
			}
			from := m.Set.Class.Origin
			from.Field = field
			b.Found.Add(finding.Finding{
				Object: m.Ref, Field: members.FieldForObject(m.Ref, from), Reason: finding.AnnotationConflict,
				Message: fmt.Sprintf("%s=%s has no effect, because only the class of %s, the first member, is used", k, values[k], sharing[0].Ref),
				Fix:     "set it in the class of the first member, or remove it",
			})
		}
	}
}
