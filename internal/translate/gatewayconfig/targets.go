package gatewayconfig

import (
	"cmp"
	"slices"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Targets is what configurations say of the target group of one backend of a route.
type Targets struct {
	gwconfig.TargetGroupProps
	// Own is the configuration of the backend itself; nil where there is none. Ignored are others of the same
	// backend.
	Own     *gwconfig.TargetGroupConfiguration
	Ignored []*gwconfig.TargetGroupConfiguration
}

// ForService has the properties of target groups for a Service that a route names as a backend.
func (c Configuration) ForService(v *cluster.View, route finding.Ref, namespace, name string) Targets {
	out := about(v, cluster.KindService, namespace, name)
	defaults := ForRoute(c.Targets, route.Kind, route.Namespace, route.Name)
	if out.Own == nil {
		out.TargetGroupProps = defaults
		return out
	}
	out.TargetGroupProps = MergeProps(ForRoute(out.Own.Spec, route.Kind, route.Namespace, route.Name), defaults)
	return out
}

// ForGateway has those for a Gateway that a route names as a backend. The defaults of the route's Gateway do not
// count.
func ForGateway(v *cluster.View, route finding.Ref, namespace, name string) Targets {
	out := about(v, cluster.KindGateway, namespace, name)
	if out.Own != nil {
		out.TargetGroupProps = ForRoute(out.Own.Spec, route.Kind, route.Namespace, route.Name)
	}
	return out
}

// about finds the configuration of a backend: of several the oldest one, and then the first by name.
func about(v *cluster.View, kind cluster.Kind, namespace, name string) Targets {
	all := cluster.List[*gwconfig.TargetGroupConfiguration](v, cluster.Query{
		Kind: cluster.KindTargetGroupConfiguration, Index: cluster.TargetsByReference, Value: cluster.BackendValue(kind, namespace, name),
	})
	if len(all) == 0 {
		return Targets{}
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b *gwconfig.TargetGroupConfiguration) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return Targets{Own: all[0], Ignored: all[1:]}
}
