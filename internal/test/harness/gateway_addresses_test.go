package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// addressedGateway is Gateway "front" of an NLB, which uses LoadBalancerConfiguration "front", with a TCPRoute to
// Service "web".
const addressedGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: front, uid: 33333333-0000-4000-8000-000000000002}
spec:
  gatewayClassName: nlb
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: front}}
  listeners: [{name: web, protocol: TCP, port: 8000}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: shop, name: web}
spec:
  parentRefs: [{name: front}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
`

// configurationWithSubnets returns LoadBalancerConfiguration "shop/front". spec has further fields, and entries are
// those of loadBalancerSubnets.
func configurationWithSubnets(spec string, entries ...string) string {
	return fmt.Sprintf(`
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: shop, name: front}
spec:
  %s
  loadBalancerSubnets: [%s]
---
`, spec, strings.Join(entries, ", "))
}

// subnetEntries returns one entry of loadBalancerSubnets for each value. An entry has only this field.
func subnetEntries(field string, values ...string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprintf("{%s: %q}", field, v)
	}
	return out
}

// addressesBySubnet returns what of returns for each subnet of the only load balancer, by subnet ID.
func (r *Harness) addressesBySubnet(of func(types.AvailabilityZone, types.LoadBalancerAddress) string) map[string]string {
	r.T.Helper()
	found, err := elasticloadbalancingv2.NewFromConfig(AWSConfig(r.Emulator)).DescribeLoadBalancers(r.T.Context(), &elasticloadbalancingv2.DescribeLoadBalancersInput{})
	if err != nil {
		r.T.Fatal(err)
	}
	out := map[string]string{}
	for _, lb := range found.LoadBalancers {
		for _, z := range lb.AvailabilityZones {
			var address types.LoadBalancerAddress
			if len(z.LoadBalancerAddresses) > 0 {
				address = z.LoadBalancerAddresses[0]
			}
			out[*z.SubnetId] = of(z, address)
		}
	}
	return out
}

// valuesBySubnet returns a map from subnets[i] to values[i].
func valuesBySubnet(subnets, values []string) map[string]string {
	out := map[string]string{}
	for i, s := range subnets {
		out[s] = values[i]
	}
	return out
}

// tagSubnets sets the tag "tier" of subnets to "front". Tests select subnets with this tag.
func (r *Harness) tagSubnets(ids ...string) {
	r.T.Helper()
	_, err := ec2.NewFromConfig(AWSConfig(r.Emulator)).CreateTags(r.T.Context(), &ec2.CreateTagsInput{
		Resources: ids, Tags: []ec2types.Tag{{Key: aws.String("tier"), Value: aws.String("front")}},
	})
	if err != nil {
		r.T.Fatal(err)
	}
}

// ipv6Of returns one IPv6 address or prefix for each subnet. %s in format is the /64 block of the subnet without
// "::/64".
func (r *Harness) ipv6Of(format string, subnets ...string) []string {
	r.T.Helper()
	out, err := ec2.NewFromConfig(AWSConfig(r.Emulator)).DescribeSubnets(r.T.Context(), &ec2.DescribeSubnetsInput{SubnetIds: subnets})
	if err != nil {
		r.T.Fatal(err)
	}
	blocks := map[string]string{}
	for _, s := range out.Subnets {
		blocks[*s.SubnetId] = strings.TrimSuffix(*s.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock, "::/64")
	}
	var all []string
	for _, s := range subnets {
		all = append(all, fmt.Sprintf(format, blocks[s]))
	}
	return all
}

// TestGatewayAddressesInDiscoveredSubnets checks entries of loadBalancerSubnets without an identifier, which are
// assigned to discovered or selected subnets. Elastic IPs go to the subnets in ascending order of subnet ID, as for
// Services, and other addresses to the subnets that contain them. Later no call changes them.
func TestGatewayAddressesInDiscoveredSubnets(t *testing.T) {
	t.Parallel()
	elastic := func(_ types.AvailabilityZone, a types.LoadBalancerAddress) string {
		return aws.ToString(a.AllocationId)
	}
	prefix := func(z types.AvailabilityZone, _ types.LoadBalancerAddress) string {
		return strings.Join(z.SourceNatIpv6Prefixes, ",")
	}
	const public, internal, dual = "scheme: internet-facing", "scheme: internal", "scheme: internet-facing\n  ipAddressType: dualstack"
	for name, c := range map[string]struct {
		spec string
		// value returns the values of the entries, and want the values of the subnets in ascending order of ID.
		field string
		value func(r *Harness, subnets []string) []string
		want  func(r *Harness, subnets []string) []string // nil if the result is the same as that of value
		has   func(types.AvailabilityZone, types.LoadBalancerAddress) string
	}{
		"elastic addresses": {
			spec: public, field: "eipAllocation", has: elastic,
			value: func(r *Harness, subnets []string) []string { return r.Seeded.EIPs[:len(subnets)] },
		},
		"source NAT prefixes": {
			spec: dual, field: "sourceNatIPv6Prefix", has: prefix,
			value: func(r *Harness, subnets []string) []string { return r.ipv6Of("%s:7::/80", subnets...) },
			want:  func(r *Harness, subnets []string) []string { return r.ipv6Of("%s:7::/80", subnets...) },
		},
		"private addresses": {
			spec: internal, field: "privateIPv4Allocation",
			has: func(_ types.AvailabilityZone, a types.LoadBalancerAddress) string {
				return aws.ToString(a.PrivateIPv4Address)
			},
			value: func(r *Harness, subnets []string) (out []string) {
				for _, s := range subnets {
					out = append(out, fmt.Sprintf("10.0.%d.77", 128+16*slices.Index(r.Seeded.Private, s)))
				}
				slices.Reverse(out) // the order does not matter, because each address is in one subnet
				return out
			},
			want: func(r *Harness, subnets []string) (out []string) {
				for _, s := range subnets {
					out = append(out, fmt.Sprintf("10.0.%d.77", 128+16*slices.Index(r.Seeded.Private, s)))
				}
				return out
			},
		},
		"IPv6 addresses": {
			spec: dual, field: "ipv6Allocation",
			has:   func(_ types.AvailabilityZone, a types.LoadBalancerAddress) string { return aws.ToString(a.IPv6Address) },
			value: func(r *Harness, subnets []string) []string { return r.ipv6Of("%s:0:0:0:00AB", subnets...) },
			want:  func(r *Harness, subnets []string) []string { return r.ipv6Of("%s::ab", subnets...) },
		},
	} {
		for _, selected := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", discovered", true: ", selected"}[selected], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
					none := r.State()
					subnets := slices.Sorted(slices.Values(r.Seeded.Public))
					if c.spec == internal {
						subnets = slices.Sorted(slices.Values(r.Seeded.Private))
					}
					spec := c.spec
					if selected {
						subnets = subnets[1:]
						r.tagSubnets(subnets...)
						spec += "\n  loadBalancerSubnetsSelector: {tier: [front]}"
						none = r.State()
					}
					want := c.value
					if c.want != nil {
						want = c.want
					}
					r.Apply(addressedGateway, configurationWithSubnets(spec, subnetEntries(c.field, c.value(r, subnets)...)...), readyPods("web", podAddresses[:2]...))
					r.advanceTime(20 * time.Minute)
					if d := cmp.Diff(valuesBySubnet(subnets, want(r, subnets)), r.addressesBySubnet(c.has)); d != "" {
						t.Fatalf("addresses (-want +got):\n%s\n%v", d, r.Store.All("Gateway"))
					}
					r.Emulator.Calls().Reset()
					r.advanceTime(11 * time.Hour)
					r.Start()
					r.advanceTime(time.Hour)
					if n := r.Emulator.Calls().CountMutating(); n > 0 {
						t.Errorf("%d changes without an edit: %v", n, r.Emulator.Calls().Counts())
					}
					if hasEvent(r, "front", "address") {
						t.Errorf("a warning about addresses: %v", r.Store.All("Event"))
					}
					r.deleteObject("Gateway", "shop", "front")
					r.advanceTime(30 * time.Minute)
					if d := cmp.Diff(none, r.State()); d != "" {
						t.Errorf("left after the deletion (-before +after):\n%s", d)
					}
				})
			})
		}
	}
}

// TestNewSubnetGetsFreeElasticIP checks that an added subnet gets an unused Elastic IP, even if it has the lowest
// subnet ID. AWS cannot change the addresses of the other subnets.
func TestNewSubnetGetsFreeElasticIP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
		elastic := func(_ types.AvailabilityZone, a types.LoadBalancerAddress) string {
			return aws.ToString(a.AllocationId)
		}
		subnets := slices.Sorted(slices.Values(r.Seeded.Public))
		const selected = "scheme: internet-facing\n  loadBalancerSubnetsSelector: {tier: [front]}"
		r.tagSubnets(subnets[1:]...)
		r.Apply(addressedGateway, configurationWithSubnets(selected, subnetEntries("eipAllocation", r.Seeded.EIPs[:2]...)...), readyPods("web", podAddresses[:2]...))
		r.advanceTime(20 * time.Minute)
		want := valuesBySubnet(subnets[1:], r.Seeded.EIPs)
		if d := cmp.Diff(want, r.addressesBySubnet(elastic)); d != "" {
			t.Fatalf("at first (-want +got):\n%s", d)
		}
		r.tagSubnets(subnets[0])
		r.Apply(configurationWithSubnets(selected, subnetEntries("eipAllocation", r.Seeded.EIPs...)...))
		r.advanceTime(30 * time.Minute)
		maps.Copy(want, map[string]string{subnets[0]: r.Seeded.EIPs[2]})
		if d := cmp.Diff(want, r.addressesBySubnet(elastic)); d != "" {
			t.Errorf("with another subnet (-want +got):\n%s", d)
		}
	})
}
