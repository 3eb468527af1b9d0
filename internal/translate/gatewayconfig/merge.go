package gatewayconfig

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
)

// Merge lays the configuration of a Gateway and that of its class over each other. The class wins unless it asks
// for prefer-gateway. Either may be nil; one alone counts as it is.
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
	out := over(*high, *low)
	tags := union(high.Tags, low.Tags)
	out.MergingMode, out.Tags = nil, &tags
	out.LoadBalancerAttributes = mergeAttributes(high.LoadBalancerAttributes, low.LoadBalancerAttributes)
	out.ListenerConfigurations = mergeListeners(high.ListenerConfigurations, low.ListenerConfigurations)
	return out
}

// prefersGateway reports whether the configuration of a class lets that of the Gateway win.
func prefersGateway(class *gwconfig.LoadBalancerConfigurationSpec) bool {
	return class != nil && class.MergingMode != nil && *class.MergingMode == gwconfig.PreferGateway
}

// over returns the low one with each field, as a whole, of the high one where it is given there.
func over[S any](high, low S) S {
	from, to := reflect.ValueOf(high), reflect.ValueOf(&low).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() {
			to.Field(i).Set(f)
		}
	}
	return low
}

func union(high, low *map[string]string) map[string]string {
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
	all := attributes(low)
	maps.Copy(all, attributes(high))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, gwconfig.Attribute{Key: k, Value: all[k]})
	}
	return out
}

// attributes are a list as a map; the last of several values of a key counts.
func attributes(list []gwconfig.Attribute) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.Key] = a.Value
	}
	return out
}

// mergeListeners unites the entries; of two with one key the high one counts as a whole.
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

// MergeProps lays properties of target groups over others, field by field.
func MergeProps(high, low gwconfig.TargetGroupProps) gwconfig.TargetGroupProps {
	out := over(high, low)
	out.TargetGroupAttributes = mergeAttributes(high.TargetGroupAttributes, low.TargetGroupAttributes)
	if high.Tags != nil || low.Tags != nil {
		tags := union(high.Tags, low.Tags)
		out.Tags = &tags
	}
	return out
}

// ForRoute are the properties that one configuration has for a route: those of the entry that fits it best, over the
// default ones.
func ForRoute(spec gwconfig.TargetGroupConfigurationSpec, kind, namespace, name string) gwconfig.TargetGroupProps {
	best, rank := -1, 0
	for i, r := range spec.RouteConfigurations {
		if n := fit(r.RouteIdentifier, kind, namespace, name); n > rank {
			best, rank = i, n
		}
	}
	if best < 0 {
		return MergeProps(gwconfig.TargetGroupProps{}, spec.DefaultConfiguration)
	}
	return MergeProps(spec.RouteConfigurations[best].TargetGroupProps, spec.DefaultConfiguration)
}

// fit returns how well an identifier names a route: 3 by its name, 2 by its namespace, 1 by its kind, 0 not at all.
func fit(id gwconfig.RouteIdentifier, kind, namespace, name string) int {
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
