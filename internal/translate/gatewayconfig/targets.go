package gatewayconfig

import (
	"cmp"
	"slices"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TargetGroup has the properties of the target group for one backend of a route, merged from all configurations that apply.
type TargetGroupProperties struct {
	gwconfig.TargetGroupProps
	// Configuration is the TargetGroupConfiguration whose targetReference names the backend; nil if there is none. Ignored
	// are other TargetGroupConfigurations for the same backend.
	Configuration *gwconfig.TargetGroupConfiguration
	Ignored       []*gwconfig.TargetGroupConfiguration
}

// TargetGroupPropertiesForService returns the properties of the target group for a Service that is a backend of a route.
func (c Configuration) TargetGroupPropertiesForService(v *cluster.View, route finding.Ref, namespace, name string) TargetGroupProperties {
	out := backendConfiguration(v, cluster.KindService, namespace, name)
	defaults := propsForRoute(c.Targets, route.Kind, route.Namespace, route.Name)
	if out.Configuration == nil {
		out.TargetGroupProps = defaults
		return out
	}
	out.TargetGroupProps = mergeProps(propsForRoute(out.Configuration.Spec, route.Kind, route.Namespace, route.Name), defaults)
	return out
}

// TargetGroupPropertiesForGateway returns the properties of the target group for a Gateway that is a backend of a route. The
// defaults of the Gateway to which the route is attached do not apply.
func TargetGroupPropertiesForGateway(v *cluster.View, route finding.Ref, namespace, name string) TargetGroupProperties {
	out := backendConfiguration(v, cluster.KindGateway, namespace, name)
	if out.Configuration != nil {
		out.TargetGroupProps = propsForRoute(out.Configuration.Spec, route.Kind, route.Namespace, route.Name)
	}
	return out
}

// backendConfiguration returns the TargetGroupConfigurations of a backend. Configuration is the oldest one, and among those
// of the same age the first one by name.
func backendConfiguration(v *cluster.View, kind cluster.Kind, namespace, name string) TargetGroupProperties {
	all := cluster.List[*gwconfig.TargetGroupConfiguration](v, cluster.Query{
		Kind: cluster.KindTargetGroupConfiguration, Index: cluster.TargetConfigurationByReference, Value: cluster.BackendValue(kind, namespace, name),
	})
	if len(all) == 0 {
		return TargetGroupProperties{}
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b *gwconfig.TargetGroupConfiguration) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return TargetGroupProperties{Configuration: all[0], Ignored: all[1:]}
}
