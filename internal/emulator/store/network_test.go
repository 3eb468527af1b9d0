package store_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// createSubnet creates a subnet with an IPv6 block in a new VPC.
func createSubnet(p *store.Partition, block string) *store.Subnet {
	v := p.CreateVPC(netip.MustParsePrefix(block))
	s := &store.Subnet{
		ID: p.Store().NewID("subnet-"), VPCID: v.ID, Zone: p.Zones[0].Name, CIDR: netip.MustParsePrefix(block),
		IPv6: []store.CIDRAssociation{{Block: netip.MustParsePrefix("2600:1f13:0:a00::/64")}},
	}
	p.Subnets[s.ID] = s
	return s
}

func TestAddressesOfASubnet(t *testing.T) {
	p := store.New(store.Options{}).Partition("1", "us-west-2")
	s := createSubnet(p, "10.0.0.16/28")
	if n := p.CountFreeIPv4(s); n != 11 {
		t.Errorf("want 11 free addresses in an empty /28, got %d", n)
	}
	var got []string
	for {
		eni, err := p.CreateServiceENI("ELB app/a/1", "amazon-elb", s.ID, nil)
		if err != nil {
			if err.Code != "InsufficientFreeAddressesInSubnet" {
				t.Error(err)
			}
			break
		}
		got = append(got, eni.Private[0].Addr.String())
	}
	want := []string{
		"10.0.0.20", "10.0.0.21", "10.0.0.22", "10.0.0.23", "10.0.0.24", "10.0.0.25",
		"10.0.0.26", "10.0.0.27", "10.0.0.28", "10.0.0.29", "10.0.0.30",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(p.NetworkInterfaces) != len(want) {
		t.Errorf("a failed creation left an ENI: %d", len(p.NetworkInterfaces))
	}
}

func TestServiceENIOptions(t *testing.T) {
	cases := map[string]struct {
		in   store.ServiceENIOptions
		want []string
		code string
	}{
		"next free":                    {store.ServiceENIOptions{}, []string{"10.0.0.4"}, ""},
		"requested address":            {store.ServiceENIOptions{Address: netip.MustParseAddr("10.0.0.9")}, []string{"10.0.0.9"}, ""},
		"with secondaries":             {store.ServiceENIOptions{Address: netip.MustParseAddr("10.0.0.4"), Secondary: 2}, []string{"10.0.0.4", "10.0.0.5", "10.0.0.6"}, ""},
		"with IPv6":                    {store.ServiceENIOptions{IPv6: true}, []string{"10.0.0.4", "2600:1f13:0:a00::4"}, ""},
		"reserved address":             {store.ServiceENIOptions{Address: netip.MustParseAddr("10.0.0.3")}, nil, "InvalidParameterValue"},
		"address of another subnet":    {store.ServiceENIOptions{Address: netip.MustParseAddr("10.1.0.9")}, nil, "InvalidParameterValue"},
		"more than the free addresses": {store.ServiceENIOptions{Secondary: 20}, nil, "InsufficientFreeAddressesInSubnet"},
		"no such subnet":               {store.ServiceENIOptions{SubnetID: "subnet-0"}, nil, "InvalidSubnetID.NotFound"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := store.New(store.Options{}).Partition("1", "us-west-2")
			if s := createSubnet(p, "10.0.0.0/28"); tc.in.SubnetID == "" {
				tc.in.SubnetID = s.ID
			}
			eni, err := p.CreateServiceENIWithOptions(tc.in)
			if err != nil {
				if err.Code != tc.code || len(p.NetworkInterfaces) != 0 {
					t.Errorf("want %q and no ENI, got %v and %d ENIs", tc.code, err, len(p.NetworkInterfaces))
				}
				return
			}
			var got []string
			for _, a := range eni.Private {
				got = append(got, a.Addr.String())
			}
			for _, a := range eni.IPv6 {
				got = append(got, a.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || tc.code != "" {
				t.Errorf("want %q\n%s", tc.code, diff)
			}
		})
	}
}

func TestZonesOfRegions(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "usw2-az1", "us-east-1": "use1-az1", "eu-central-1": "euc1-az1", "ap-southeast-2": "apse2-az1", "ap-northeast-1": "apne1-az1",
	} {
		p := store.New(store.Options{}).Partition("1", region)
		if z := p.Zones[0]; z.Name != region+"a" || z.ID != want {
			t.Errorf("%s: %s %s, want %s", region, z.Name, z.ID, want)
		}
	}
}

func TestAccountOfAccessKey(t *testing.T) {
	w := store.New(store.Options{Account: "999988887777"})
	w.AddAccessKey("registered", "111111111111")
	cases := map[string]struct {
		account string
		known   bool
	}{
		"registered":           {"111111111111", true},
		"222222222222":         {"222222222222", true},
		"AKIA333333333333":     {"333333333333", true},
		"AKIA333333333333NODE": {"333333333333", true},
		"AKIA3333333333334":    {"999988887777", false},
		"AKIAIOSFODNN7EXAMPLE": {"999988887777", false},
	}
	for key, want := range cases {
		if account, known := w.AccountOfAccessKey(key); account != want.account || known != want.known {
			t.Errorf("%s: want %v, got %s %v", key, want, account, known)
		}
	}
}

func TestCheckFindsInconsistencies(t *testing.T) {
	w := store.New(store.Options{})
	p := w.Partition("1", "us-west-2")
	s := createSubnet(p, "10.0.0.0/24")
	if broken := w.CheckInvariants(); len(broken) != 0 {
		t.Fatalf("a new store: %v", broken)
	}
	a, err := p.CreateServiceENI("a", "x", s.ID, []string{"sg-gone"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.CreateServiceENI("b", "x", s.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Private[0].Addr = a.Private[0].Addr
	if broken := w.CheckInvariants(); len(broken) != 2 {
		t.Errorf("want a missing security group and a double address, got %v", broken)
	}
}
