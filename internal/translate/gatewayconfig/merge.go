package gatewayconfig

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
)

// Merge merges the configurations of a GatewayClass and of a Gateway. The configuration of the class has precedence unless
// its mergingMode is prefer-gateway. If one of them is nil, the other one is returned unchanged.
func Merge(class, gateway *gwconfig.LoadBalancerConfigurationSpec) gwconfig.LoadBalancerConfigurationSpec {
	switch {
	case class == nil && gateway == nil:
		return gwconfig.LoadBalancerConfigurationSpec{}
	case class == nil:
		return *gateway
	case gateway == nil:
		return *class
	}
	high, low := class, gateway
	if prefersGateway(class) {
		high, low = gateway, class
	}
	out := overlayFields(*high, *low)
	tags := mergeMaps(high.Tags, low.Tags)
	out.MergingMode, out.Tags = nil, &tags
	out.LoadBalancerAttributes = mergeAttributes(high.LoadBalancerAttributes, low.LoadBalancerAttributes)
	out.ListenerConfigurations = mergeListeners(high.ListenerConfigurations, low.ListenerConfigurations)
	return out
}

// prefersGateway reports whether the configuration of a class has mergingMode prefer-gateway.
func prefersGateway(class *gwconfig.LoadBalancerConfigurationSpec) bool {
	return class != nil && class.MergingMode != nil && *class.MergingMode == gwconfig.PreferGateway
}

// overlayFields returns a copy of low with all fields that high sets. It does not merge the values of a field.
func overlayFields[S any](high, low S) S {
	from, to := reflect.ValueOf(high), reflect.ValueOf(&low).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() {
			to.Field(i).Set(f)
		}
	}
	return low
}

func mergeMaps(high, low *map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []*map[string]string{low, high} {
		if m != nil {
			maps.Copy(out, *m)
		}
	}
	return out
}

func mergeAttributes(high, low []gwconfig.Attribute) []gwconfig.Attribute {
	var out []gwconfig.Attribute
	all := AttributeMap(slices.Concat(low, high))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, gwconfig.Attribute{Key: k, Value: all[k]})
	}
	return out
}

// AttributeMap returns a list of attributes as a map; nil if the list is empty. If a key occurs several times, the last value
// is used.
func AttributeMap(list []gwconfig.Attribute) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, a := range list {
		out[a.Key] = a.Value
	}
	return out
}

// mergeListeners merges the listener entries of two configurations, sorted by protocol and port. If both have an entry for a
// protocol and port, the entry of high is used.
func mergeListeners(high, low *[]gwconfig.ListenerConfiguration) *[]gwconfig.ListenerConfiguration {
	if high == nil && low == nil {
		return nil
	}
	entries := map[string]gwconfig.ListenerConfiguration{}
	for _, list := range []*[]gwconfig.ListenerConfiguration{low, high} {
		if list == nil {
			continue
		}
		for _, l := range *list {
			entries[l.ProtocolPort] = l
		}
	}
	out := slices.SortedFunc(maps.Values(entries), func(a, b gwconfig.ListenerConfiguration) int {
		return cmp.Compare(a.ProtocolPort, b.ProtocolPort)
	})
	return &out
}

// mergeProps merges the properties of target groups in two configurations. Fields of high have precedence. Attributes and
// tags are merged by key.
func mergeProps(high, low gwconfig.TargetGroupProps) gwconfig.TargetGroupProps {
	out := overlayFields(high, low)
	out.TargetGroupAttributes = mergeAttributes(high.TargetGroupAttributes, low.TargetGroupAttributes)
	if high.Tags != nil || low.Tags != nil {
		tags := mergeMaps(high.Tags, low.Tags)
		out.Tags = &tags
	}
	return out
}

// propsForRoute returns the properties of target groups that a configuration sets for a route. The properties of the entry
// that matches the route most closely have precedence over the default properties.
func propsForRoute(spec gwconfig.TargetGroupConfigurationSpec, kind, namespace, name string) gwconfig.TargetGroupProps {
	best, rank := -1, 0
	for i, r := range spec.RouteConfigurations {
		if n := routeRank(r.RouteIdentifier, kind, namespace, name); n > rank {
			best, rank = i, n
		}
	}
	if best < 0 {
		return mergeProps(gwconfig.TargetGroupProps{}, spec.DefaultConfiguration)
	}
	return mergeProps(spec.RouteConfigurations[best].TargetGroupProps, spec.DefaultConfiguration)
}

// routeRank returns how closely an identifier matches a route: 3 by name, 2 by namespace, 1 by kind, 0 if it does not match.
func routeRank(id gwconfig.RouteIdentifier, kind, namespace, name string) int {
	switch {
	case id.RouteKind != kind:
		return 0
	case id.RouteName != "" && id.RouteNamespace == namespace && id.RouteName == name:
		return 3
	case id.RouteName != "":
		return 0
	case id.RouteNamespace == namespace:
		return 2
	case id.RouteNamespace == "":
		return 1
	}
	return 0
}
