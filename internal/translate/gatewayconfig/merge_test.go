package gatewayconfig

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestMerge checks the ways in which fields are merged: as a whole, or by key.
func TestMerge(t *testing.T) {
	t.Parallel()
	list := func(s ...string) *[]string { return &s }
	attrs := func(kv ...string) (out []gwconfig.Attribute) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, gwconfig.Attribute{Key: kv[i], Value: kv[i+1]})
		}
		return out
	}
	listeners := func(l ...gwconfig.ListenerConfiguration) *[]gwconfig.ListenerConfiguration { return &l }
	type spec = gwconfig.LoadBalancerConfigurationSpec
	for name, c := range map[string]struct{ class, gateway, class1, gateway1 spec }{
		// class1 is the result if the class has precedence, gateway1 the result if the Gateway has precedence.
		"name":     {spec{LoadBalancerName: new("a")}, spec{LoadBalancerName: new("b")}, spec{LoadBalancerName: new("a")}, spec{LoadBalancerName: new("b")}},
		"one side": {spec{Scheme: new(gwconfig.SchemeInternal)}, spec{}, spec{Scheme: new(gwconfig.SchemeInternal)}, spec{Scheme: new(gwconfig.SchemeInternal)}},
		"capacity": {
			spec{MinimumLoadBalancerCapacity: &gwconfig.MinimumLoadBalancerCapacity{CapacityUnits: 100}}, spec{},
			spec{MinimumLoadBalancerCapacity: &gwconfig.MinimumLoadBalancerCapacity{CapacityUnits: 100}}, spec{MinimumLoadBalancerCapacity: &gwconfig.MinimumLoadBalancerCapacity{CapacityUnits: 100}},
		},
		"lists as a whole": {
			spec{SecurityGroups: list("a", "b"), SourceRanges: list()}, spec{SecurityGroups: list("c"), SourceRanges: list("10.0.0.0/8")},
			spec{SecurityGroups: list("a", "b"), SourceRanges: list()}, spec{SecurityGroups: list("c"), SourceRanges: list("10.0.0.0/8")},
		},
		"tags by key": {
			spec{Tags: &map[string]string{"env": "prod", "team": "a"}}, spec{Tags: &map[string]string{"team": "b", "app": "x"}},
			spec{Tags: &map[string]string{"env": "prod", "team": "a", "app": "x"}}, spec{Tags: &map[string]string{"env": "prod", "team": "b", "app": "x"}},
		},
		"attributes by key": {
			spec{LoadBalancerAttributes: attrs("idle", "60")}, spec{LoadBalancerAttributes: attrs("idle", "30", "guard", "true")},
			spec{LoadBalancerAttributes: attrs("guard", "true", "idle", "60")}, spec{LoadBalancerAttributes: attrs("guard", "true", "idle", "30")},
		},
		"listeners by key, an entry as a whole": {
			spec{ListenerConfigurations: listeners(gwconfig.ListenerConfiguration{ProtocolPort: "HTTPS:443", SSLPolicy: new("P")})},
			spec{ListenerConfigurations: listeners(gwconfig.ListenerConfiguration{ProtocolPort: "HTTPS:443", DefaultCertificate: new("C")}, gwconfig.ListenerConfiguration{ProtocolPort: "HTTP:80"})},
			spec{ListenerConfigurations: listeners(gwconfig.ListenerConfiguration{ProtocolPort: "HTTP:80"}, gwconfig.ListenerConfiguration{ProtocolPort: "HTTPS:443", SSLPolicy: new("P")})},
			spec{ListenerConfigurations: listeners(gwconfig.ListenerConfiguration{ProtocolPort: "HTTP:80"}, gwconfig.ListenerConfiguration{ProtocolPort: "HTTPS:443", DefaultCertificate: new("C")})},
		},
	} {
		for _, mode := range []*gwconfig.MergingMode{nil, new(gwconfig.PreferGatewayClass), new(gwconfig.PreferGateway)} {
			class, want := c.class, c.class1
			if class.MergingMode = mode; prefersGateway(&class) {
				want = c.gateway1
			}
			if want.Tags == nil {
				want.Tags = &map[string]string{}
			}
			if d := cmp.Diff(want, Merge(&class, &c.gateway)); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	}
}

// TestMergeOfOneConfiguration checks that a single configuration is used unchanged.
func TestMergeOfOneConfiguration(t *testing.T) {
	t.Parallel()
	only := gwconfig.LoadBalancerConfigurationSpec{MergingMode: new(gwconfig.PreferGateway), LoadBalancerName: new("a")}
	for _, got := range []gwconfig.LoadBalancerConfigurationSpec{Merge(&only, nil), Merge(nil, &only)} {
		if d := cmp.Diff(only, got); d != "" {
			t.Error(d)
		}
	}
	if d := cmp.Diff(gwconfig.LoadBalancerConfigurationSpec{}, Merge(nil, nil)); d != "" {
		t.Error(d)
	}
}

// TestTargetGroupPropsForRoute checks which entry of routeConfigurations is used for a route. In want, it is the index of
// the entry; "" means the defaults only.
func TestTargetGroupPropsForRoute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ids  []gwconfig.RouteIdentifier
		want string
	}{
		{[]gwconfig.RouteIdentifier{{RouteKind: "HTTPRoute"}, {RouteKind: "HTTPRoute", RouteNamespace: "ns1"}}, "1"},
		{[]gwconfig.RouteIdentifier{{RouteKind: "HTTPRoute", RouteNamespace: "ns1"}, {RouteKind: "HTTPRoute", RouteNamespace: "ns1", RouteName: "b"}}, "0"},
		{[]gwconfig.RouteIdentifier{{RouteKind: "HTTPRoute", RouteNamespace: "ns1"}, {RouteKind: "HTTPRoute", RouteNamespace: "ns1", RouteName: "a"}}, "1"},
		{[]gwconfig.RouteIdentifier{{RouteKind: "HTTPRoute"}, {RouteKind: "HTTPRoute"}}, "0"},
		{[]gwconfig.RouteIdentifier{{RouteKind: "HTTPRoute", RouteNamespace: "ns2"}}, ""},
		{[]gwconfig.RouteIdentifier{{RouteNamespace: "ns1"}}, ""},
		{[]gwconfig.RouteIdentifier{{RouteKind: "HTTPRoute", RouteName: "a"}}, ""},
		{[]gwconfig.RouteIdentifier{{RouteKind: "GRPCRoute"}}, ""},
	} {
		spec := gwconfig.TargetGroupConfigurationSpec{DefaultConfiguration: gwconfig.TargetGroupProps{TargetType: new(gwconfig.TargetTypeIP)}}
		for i, id := range c.ids {
			spec.RouteConfigurations = append(spec.RouteConfigurations, gwconfig.RouteConfiguration{RouteIdentifier: id, TargetGroupProps: gwconfig.TargetGroupProps{TargetGroupName: new(string(rune('0' + i)))}})
		}
		got := propsForRoute(spec, "HTTPRoute", "ns1", "a")
		name := ""
		if got.TargetGroupName != nil {
			name = *got.TargetGroupName
		}
		if name != c.want || got.TargetType == nil {
			t.Errorf("%v: want entry %q over the defaults, got %q, %v", c.ids, c.want, name, got.TargetType)
		}
	}
}

// TestMergeProps checks that health checks are merged as a whole, and attributes and tags by key.
func TestMergeProps(t *testing.T) {
	t.Parallel()
	high := gwconfig.TargetGroupProps{
		HealthCheckConfig:     &gwconfig.HealthCheckConfiguration{HealthCheckInterval: new(int32(30))},
		TargetGroupAttributes: []gwconfig.Attribute{{Key: "b", Value: "1"}, {Key: "b", Value: "2"}}, Tags: &map[string]string{"a": "1"},
	}
	low := gwconfig.TargetGroupProps{
		TargetType: new(gwconfig.TargetTypeIP), HealthCheckConfig: &gwconfig.HealthCheckConfiguration{HealthCheckPath: new("/a")},
		TargetGroupAttributes: []gwconfig.Attribute{{Key: "a", Value: "0"}, {Key: "b", Value: "0"}}, Tags: &map[string]string{"a": "0", "b": "0"},
	}
	want := gwconfig.TargetGroupProps{
		TargetType: new(gwconfig.TargetTypeIP), HealthCheckConfig: &gwconfig.HealthCheckConfiguration{HealthCheckInterval: new(int32(30))},
		TargetGroupAttributes: []gwconfig.Attribute{{Key: "a", Value: "0"}, {Key: "b", Value: "2"}}, Tags: &map[string]string{"a": "1", "b": "0"},
	}
	if d := cmp.Diff(want, mergeProps(high, low)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestEveryFieldIsMerged checks for each field that a value in one of the two configurations is not lost, so that a new
// field cannot be forgotten in the merge.
func TestEveryFieldIsMerged(t *testing.T) {
	t.Parallel()
	merge := func(high, low gwconfig.LoadBalancerConfigurationSpec) gwconfig.LoadBalancerConfigurationSpec {
		return Merge(&high, &low)
	}
	if n := checkEachFieldIsMerged(t, merge, "MergingMode"); n < 20 {
		t.Errorf("only %d fields of load balancers", n)
	}
	if n := checkEachFieldIsMerged(t, mergeProps); n < 10 {
		t.Errorf("only %d fields of target groups", n)
	}
}

func checkEachFieldIsMerged[S any](t *testing.T, merge func(high, low S) S, but ...string) (n int) {
	t.Helper()
	var none S
	for f := range reflect.TypeFor[S]().Fields() {
		if slices.Contains(but, f.Name) {
			continue
		}
		n++
		given := func() (out S, value reflect.Value) {
			value = reflect.ValueOf(&out).Elem().FieldByIndex(f.Index)
			if f.Type.Kind() == reflect.Pointer {
				value.Set(reflect.New(f.Type.Elem()))
			} else {
				value.Set(reflect.MakeSlice(f.Type, 1, 1))
			}
			return out, value
		}
		high, value := given()
		low, _ := given()
		for _, got := range []S{merge(high, none), merge(none, low)} {
			if reflect.ValueOf(got).FieldByIndex(f.Index).IsZero() {
				t.Errorf("%s of one side is lost", f.Name)
			}
		}
		got := reflect.ValueOf(merge(high, low)).FieldByIndex(f.Index)
		if byKey := []string{"Tags", "LoadBalancerAttributes", "TargetGroupAttributes", "ListenerConfigurations"}; !slices.Contains(byKey, f.Name) && got.Pointer() != value.Pointer() {
			t.Errorf("%s is not that of the side that wins", f.Name)
		}
	}
	return n
}

// TestBlankSourceRangesAreAFault checks that blank elements of sourceRanges are a fault, and do not admit all clients.
func TestBlankSourceRangesAreAFault(t *testing.T) {
	for _, ranges := range [][]string{{""}, {" "}} {
		c := Configuration{LoadBalancer: spec{SourceRanges: &ranges}}
		if got := c.Settings(finding.Ref{}, model.ALBGateway); len(got.Faults) != 1 || got.InboundCIDRs.Set {
			t.Errorf("%q: faults %v, ranges %v", ranges, got.Faults, got.InboundCIDRs)
		}
	}
}
