package layout

import (
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var compareAddresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
var comparePrefixes = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

func TestPlanHasAddressesForAllNodes(t *testing.T) {
	for _, nodes := range []int{1, 3, 4, maxNodes} {
		l, err := Plan(42, "c", "us-west-2", nodes)
		if err != nil {
			t.Fatal(err)
		}
		var taken []netip.Prefix
		free := func(what string, p netip.Prefix, within netip.Prefix) {
			t.Helper()
			if !within.Overlaps(p) || within.Bits() > p.Bits() {
				t.Errorf("%d nodes: %s %s is outside of %s", nodes, what, p, within)
			}
			for _, other := range taken {
				if other.Overlaps(p) {
					t.Errorf("%d nodes: %s %s overlaps %s", nodes, what, p, other)
				}
			}
			taken = append(taken, p)
		}
		control := netip.MustParsePrefix("10.42.255.0/24")
		for _, s := range append(l.PublicSubnets, l.PrivateSubnets...) {
			free("subnet "+s.Name, s.CIDR, l.CIDR)
			if s.CIDR.Overlaps(control) {
				t.Errorf("subnet %s covers the control plane's addresses", s.Name)
			}
		}
		free("the range of the second region", l.SecondRegionRange(), l.CIDR)
		free("the range of accelerators", l.AcceleratorRange(), l.CIDR)
		taken = nil
		for _, n := range l.Nodes {
			free("pods of "+n.Name, n.PodRange, l.PrivateSubnets[n.Subnet].CIDR)
			if n.Zone != l.PrivateSubnets[n.Subnet].Zone {
				t.Errorf("%s is in %s, its subnet in %s", n.Name, n.Zone, l.PrivateSubnets[n.Subnet].Zone)
			}
		}
		// The addresses of nodes are unique and outside of the pod ranges of all nodes.
		for _, n := range l.Nodes {
			free("the address of "+n.Name, netip.PrefixFrom(n.Address, 32), l.PrivateSubnets[n.Subnet].CIDR)
		}
	}
}

func TestPlanRefusesTooManyNodes(t *testing.T) {
	for _, nodes := range []int{-1, 0, maxNodes + 1} {
		if _, err := Plan(42, "c", "us-west-2", nodes); err == nil {
			t.Errorf("%d nodes are accepted", nodes)
		}
	}
}

func TestLayoutIsEqualAfterWriteAndRead(t *testing.T) {
	want, err := Plan(42, "c", "us-west-2", 4)
	if err != nil {
		t.Fatal(err)
	}
	want.Certificates = map[string]string{"example.com": "arn"}
	path := filepath.Join(t.TempDir(), "layout.json")
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, compareAddresses, comparePrefixes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
