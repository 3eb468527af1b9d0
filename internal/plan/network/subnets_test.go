package network_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

func newSubnet(id, zone string, change ...func(*observed.Subnet)) observed.Subnet {
	s := observed.Subnet{ID: id, Zone: zone, ZoneID: "id-" + zone, ZoneType: "availability-zone", FreeIPs: 100, Tags: map[string]string{}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func withTag(key string) func(*observed.Subnet) {
	return func(s *observed.Subnet) { s.Tags[key] = "shared" }
}
func withFreeIPs(n int32) func(*observed.Subnet) { return func(s *observed.Subnet) { s.FreeIPs = n } }
func withName(n string) func(*observed.Subnet)   { return func(s *observed.Subnet) { s.Name = n } }
func withIPv6(s *observed.Subnet)                { s.IPv6CIDRs = []string{"2001:db8::/64"} }
func onOutpost(s *observed.Subnet)               { s.Outpost = "arn:outpost" }
func withZoneType(t string) func(*observed.Subnet) {
	return func(s *observed.Subnet) { s.ZoneType = t }
}

func TestChooseSubnets(t *testing.T) {
	a := func(c ...func(*observed.Subnet)) observed.Subnet { return newSubnet("subnet-a", "us-west-2a", c...) }
	b := func(c ...func(*observed.Subnet)) observed.Subnet { return newSubnet("subnet-b", "us-west-2b", c...) }
	c := func(c ...func(*observed.Subnet)) observed.Subnet { return newSubnet("subnet-c", "us-west-2a", c...) }
	l := newSubnet("subnet-l", "us-west-2-lax-1a", withZoneType("local-zone"))
	const mine, other = "kubernetes.io/cluster/my-cluster", "kubernetes.io/cluster/other"
	alb := network.SubnetRequest{Choice: model.SubnetsDiscovered{}, Scheme: model.InternetFacing, AddressType: model.IPv4, Cluster: "my-cluster", ClusterTagCheck: true, ALB: true}
	nlb := alb
	nlb.ALB = false
	with := func(r network.SubnetRequest, change func(*network.SubnetRequest)) network.SubnetRequest {
		change(&r)
		return r
	}
	list := func(r network.SubnetRequest, refs string) network.SubnetRequest {
		r.Choice = model.SubnetsNamed{Refs: strings.Split(refs, ","), Of: finding.Origin{Field: "subnets"}}
		return r
	}
	dual := func(r *network.SubnetRequest) { r.AddressType = model.DualStack }

	tests := []struct {
		name    string
		request network.SubnetRequest
		found   []observed.Subnet
		want    string // IDs, or the reason of the finding
		message string // a part of the finding's message
		refused []network.Refusal
	}{
		{"1 one per zone, lowest id", alb, []observed.Subnet{a(), b(), c()}, "subnet-a subnet-b", "", []network.Refusal{{"subnet-c", "zone us-west-2a is served by subnet-a"}}},
		{"2 this cluster's tag first", alb, []observed.Subnet{a(), b(), c(withTag(mine))}, "subnet-b subnet-c", "", []network.Refusal{{"subnet-a", "zone us-west-2a is served by subnet-c"}}},
		{"3 another cluster's tag refuses", alb, []observed.Subnet{a(withTag(other)), b(), c()}, "subnet-b subnet-c", "", []network.Refusal{{"subnet-a", "it is tagged for other clusters only"}}},
		{"3 both tags are fine", alb, []observed.Subnet{a(withTag(other), withTag(mine)), b()}, "subnet-a subnet-b", "", nil},
		{"3 check switched off", with(alb, func(r *network.SubnetRequest) { r.ClusterTagCheck = false }), []observed.Subnet{a(withTag(other)), b(), c()}, "subnet-a subnet-b", "", []network.Refusal{{"subnet-c", "zone us-west-2a is served by subnet-a"}}},
		{"4 too few zones left", alb, []observed.Subnet{a(), b(withFreeIPs(7)), c()}, "SubnetsUnsuitable", "2 subnets in different zones are needed, but only 1 can be used (subnet-a); not usable: subnet-b: it has 7 free addresses, and 8 are needed, subnet-c: zone us-west-2a is served by subnet-a", []network.Refusal{{"subnet-b", "it has 7 free addresses, and 8 are needed"}, {"subnet-c", "zone us-west-2a is served by subnet-a"}}},
		{"4 a full subnet that it is in stays", with(alb, func(r *network.SubnetRequest) { r.Live = []string{"subnet-b"} }), []observed.Subnet{a(), b(withFreeIPs(0))}, "subnet-a subnet-b", "", nil},
		{"4 one zone allowed", with(alb, func(r *network.SubnetRequest) { r.SingleSubnet = true }), []observed.Subnet{a(), b(withFreeIPs(7))}, "subnet-a", "", []network.Refusal{{"subnet-b", "it has 7 free addresses, and 8 are needed"}}},
		{"5 an NLB needs one", nlb, []observed.Subnet{a(), b(withFreeIPs(7)), c()}, "subnet-a", "", []network.Refusal{{"subnet-b", "it has 7 free addresses, and 8 are needed"}, {"subnet-c", "zone us-west-2a is served by subnet-a"}}},
		{"8 none eligible", nlb, []observed.Subnet{a(withTag(other))}, "SubnetsUnsuitable", "none of the 1 subnets for a load balancer of scheme internet-facing can be used: 1 have only the tags of other clusters, 0 have fewer than 8 free addresses; not usable: subnet-a: it is tagged for other clusters only", []network.Refusal{{"subnet-a", "it is tagged for other clusters only"}}},
		{"none found", nlb, nil, "SubnetsNotFound", "no subnet of the VPC fits", nil},
		{"10 order of the list", list(nlb, "subnet-b,subnet-a"), []observed.Subnet{a(), b()}, "subnet-b subnet-a", "", nil},
		{"11 same zone", list(nlb, "subnet-a,subnet-c"), []observed.Subnet{a(), c()}, "SubnetsUnsuitable", "subnets subnet-a and subnet-c are both in zone us-west-2a", nil},
		{"12 one name twice", list(alb, "web,web"), []observed.Subnet{b(withName("web")), a(withName("web"))}, "subnet-a subnet-b", "", nil},
		{"13 one name too often", list(alb, "web,web,web"), []observed.Subnet{a(withName("web")), b(withName("web"))}, "SubnetsUnsuitable", "more often", nil},
		{"an id twice", list(alb, "subnet-a,subnet-a"), []observed.Subnet{a()}, "SubnetsUnsuitable", "more often", nil},
		{"an id and its name", list(alb, "subnet-a,web"), []observed.Subnet{a(withName("web")), b()}, "SubnetsUnsuitable", "more often", nil},
		{"a name that no subnet has", list(alb, "subnet-a,db"), []observed.Subnet{a(), b()}, "SubnetsNotFound", "there is no subnet db", nil},
		{"a full subnet may be named", list(alb, "subnet-a,subnet-b"), []observed.Subnet{a(withFreeIPs(0)), b(withTag(other))}, "subnet-a subnet-b", "", nil},
		{"named without IPv6", with(list(alb, "subnet-a,subnet-b"), dual), []observed.Subnet{a(withIPv6), b()}, "SubnetsUnsuitable", "subnet subnet-b has no IPv6 range", nil},
		{"14 a local zone alone", alb, []observed.Subnet{l}, "subnet-l", "", nil},
		{"15 several kinds of zone", alb, []observed.Subnet{a(), b(), l}, "SubnetsUnsuitable", "availability-zone (subnet-a, subnet-b), local-zone (subnet-l)", nil},
		{"one outpost", alb, []observed.Subnet{a(onOutpost)}, "subnet-a", "", nil},
		{"an outpost and its zone", nlb, []observed.Subnet{a(onOutpost), b()}, "SubnetsUnsuitable", "availability-zone (subnet-b), outpost (subnet-a)", nil},
		{"one wavelength zone", list(alb, "subnet-a"), []observed.Subnet{a(withZoneType("wavelength-zone"))}, "subnet-a", "", nil},
		{"unknown kind of zone", alb, []observed.Subnet{newSubnet("subnet-x", "m", withZoneType("moon-zone"))}, "SubnetsUnsuitable", `unknown type "moon-zone"`, nil},
		{"16 dual stack", with(alb, dual), []observed.Subnet{a(withIPv6), b(withIPv6), c()}, "subnet-a subnet-b", "", []network.Refusal{{"subnet-c", "it has no IPv6 range"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, f := network.ChooseSubnets(tt.request, observed.SubnetAnswer{Candidates: tt.found})
			have := strings.Join(got.IDs, " ")
			if f != nil {
				have = string(f.Reason)
				if f.Blocks != finding.BlocksStack || !strings.Contains(f.Message, tt.message) {
					t.Errorf("finding %v", f)
				}
			}
			if have != tt.want {
				t.Errorf("got %s, want %s (finding %v)", have, tt.want, f)
			}
			if d := cmp.Diff(tt.refused, got.Refusals); d != "" {
				t.Errorf("refused, -want +got\n%s", d)
			}
		})
	}
}

func TestSubnetChoiceDoesNotDependOnOrder(t *testing.T) {
	var all []observed.Subnet
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		all = append(all, newSubnet("subnet-"+string(rune('0'+i)), zone))
	}
	r := network.SubnetRequest{Choice: model.SubnetsDiscovered{}, ALB: true, Cluster: "c", ClusterTagCheck: true}
	want, _ := network.ChooseSubnets(r, observed.SubnetAnswer{Candidates: all})
	for range 50 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got, _ := network.ChooseSubnets(r, observed.SubnetAnswer{Candidates: all})
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("-want +got\n%s", d)
		}
	}
}
