package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

func TestGatewayFeaturesNeedTheirKinds(t *testing.T) {
	all := gatewayKinds()
	without := func(kinds ...cluster.Kind) []cluster.Kind {
		return slices.DeleteFunc(slices.Clone(all), func(k cluster.Kind) bool { return slices.Contains(kinds, k) })
	}
	albOnly := without(cluster.KindTCPRoute, cluster.KindUDPRoute, cluster.KindTLSRoute)
	for name, c := range map[string]struct {
		gates  string
		served []cluster.Kind
		denied cluster.Kind
		want   []cluster.Kind
		fails  string
	}{
		"everything":                {served: all, want: all},
		"nothing":                   {},
		"older than 1.6":            {served: without(cluster.KindTCPRoute, cluster.KindUDPRoute), want: albOnly},
		"no ListenerSets":           {served: without(cluster.KindListenerSet), want: without(cluster.KindListenerSet)},
		"no ReferenceGrants":        {served: without(cluster.KindReferenceGrant), want: without(cluster.KindReferenceGrant)},
		"configurations at v1beta1": {served: without(configurationKinds...)},
		"only ListenerSets":         {served: []cluster.Kind{cluster.KindListenerSet, cluster.KindReferenceGrant}},
		"ALB off":                   {gates: "ALBGatewayAPI=false", served: all, want: without(cluster.KindHTTPRoute, cluster.KindGRPCRoute)},
		"NLB off":                   {gates: "NLBGatewayAPI=false", served: all, want: albOnly},
		"all off":                   {gates: "ALBGatewayAPI=false,NLBGatewayAPI=false,GatewayListenerSet=true"},
		"ListenerSets off":          {gates: "GatewayListenerSet=false", served: all, want: without(cluster.KindListenerSet)},
		"set and there":             {gates: "ALBGatewayAPI=true,NLBGatewayAPI=true,GatewayListenerSet=true", served: all, want: all},
		"ALB set":                   {gates: "ALBGatewayAPI=true", served: without(cluster.KindGRPCRoute), fails: "ALBGatewayAPI is set to true: not installed: GRPCRoute of gateway.networking.k8s.io/v1"},
		"NLB set":                   {gates: "NLBGatewayAPI=true", served: without(cluster.KindUDPRoute), fails: "NLBGatewayAPI is set to true: not installed: UDPRoute"},
		"ListenerSets set":          {gates: "GatewayListenerSet=true", served: without(cluster.KindListenerSet), fails: "GatewayListenerSet is set to true"},
		"not permitted":             {served: without(cluster.KindGRPCRoute), denied: cluster.KindGRPCRoute, want: without(cluster.KindHTTPRoute, cluster.KindGRPCRoute)},
		"set and not permitted":     {gates: "ALBGatewayAPI=true", served: without(cluster.KindGRPCRoute), denied: cluster.KindGRPCRoute, fails: "no permission to list kind"},
	} {
		t.Run(name, func(t *testing.T) {
			var gates config.Gates
			if err := gates.Set(c.gates); err != nil {
				t.Fatal(err)
			}
			found := kube.Installation{ServedKinds: map[cluster.Kind]bool{}, DeniedKinds: map[cluster.Kind]error{}}
			for _, k := range c.served {
				found.ServedKinds[k] = true
			}
			if c.denied != "" {
				found.DeniedKinds[c.denied] = errors.New("forbidden")
			}
			got, err := usableKinds(gates, false, found)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v, want an error with %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(c.want)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%v\nwant %v", got, want)
			}
			for _, k := range got {
				if !slices.Contains(wantedKinds(gates, false), k) {
					t.Errorf("%s was not looked for", k)
				}
			}
		})
	}
}

// TestAcceleratorsAreWatchedIfTheyCanBeServed checks that GlobalAccelerators are watched if the feature gate is on, the
// partition has Global Accelerator, and the CRD is installed. The kinds of their endpoints are then watched too.
func TestAcceleratorsAreWatchedIfTheyCanBeServed(t *testing.T) {
	const on, noGateways = "GlobalAcceleratorController=true", "ALBGatewayAPI=false,NLBGatewayAPI=false"
	everything := optionalKinds()
	without := func(kinds ...cluster.Kind) []cluster.Kind {
		return slices.DeleteFunc(slices.Clone(everything), func(k cluster.Kind) bool { return slices.Contains(kinds, k) })
	}
	for name, c := range map[string]struct {
		gates, region string
		served, want  []cluster.Kind
	}{
		"on":                             {on, "eu-west-1", everything, everything},
		"off":                            {"", "eu-west-1", everything, gatewayKinds()},
		"off, and no Gateways":           {noGateways, "eu-west-1", everything, nil},
		"not installed":                  {on, "eu-west-1", gatewayKinds(), gatewayKinds()},
		"no Gateway API":                 {on, "eu-west-1", []cluster.Kind{cluster.KindGlobalAccelerator}, []cluster.Kind{cluster.KindGlobalAccelerator}},
		"no configurations":              {on, "eu-west-1", without(configurationKinds...), []cluster.Kind{cluster.KindGlobalAccelerator, cluster.KindReferenceGrant}},
		"no Gateways served":             {on + "," + noGateways, "eu-west-1", everything, []cluster.Kind{cluster.KindGateway, cluster.KindGlobalAccelerator, cluster.KindReferenceGrant}},
		"no Gateways served, none there": {on + "," + noGateways, "eu-west-1", []cluster.Kind{cluster.KindGlobalAccelerator}, []cluster.Kind{cluster.KindGlobalAccelerator}},
		"China":                          {on, "cn-north-1", everything, gatewayKinds()},
		"European sovereign":             {on, "EUSC-DE-EAST-1", everything, gatewayKinds()},
		"a region like another":          {on, "eu-isolde-1", everything, everything},
	} {
		conf := config.Default()
		conf.AWS.Region = c.region
		if err := conf.Gates.Set(c.gates); err != nil {
			t.Fatal(err)
		}
		found := kube.Installation{ServedKinds: map[cluster.Kind]bool{}}
		for _, k := range c.served {
			found.ServedKinds[k] = true
		}
		got, err := usableKinds(conf.Gates, servesAccelerators(conf), found)
		if want := slices.Sorted(slices.Values(c.want)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v (%v)\nwant %v", name, got, err, want)
		}
		for _, k := range got {
			if !slices.Contains(wantedKinds(conf.Gates, servesAccelerators(conf)), k) {
				t.Errorf("%s: %s was not looked for", name, k)
			}
		}
	}
}
