package agent

import (
	"net/netip"
	"testing"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

func TestReleasedAddressIsReusedLast(t *testing.T) {
	p := newAddressPools([]layout.Node{{Name: "n", PodRange: netip.MustParsePrefix("10.20.132.0/24")}})
	take := func() netip.Addr {
		t.Helper()
		a, err := p.allocate("n")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	p.reserve("n", netip.MustParseAddr("10.20.132.1"))
	first := take()
	if want := netip.MustParseAddr("10.20.132.2"); first != want {
		t.Fatalf("first is %s, want %s: .1 is reserved", first, want)
	}
	p.release("n", first)
	// Of 254 usable addresses, one is reserved and one is first, so 252 others are allocated before first.
	for range 252 {
		if a := take(); a == first {
			t.Fatalf("%s comes back while others are free", a)
		}
	}
	if a := take(); a != first {
		t.Fatalf("last is %s, want %s", a, first)
	}
	if a, err := p.allocate("n"); err == nil {
		t.Fatalf("an exhausted pool gives %s", a)
	}
}
