package store_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestCheckFindsBrokenAccelerators(t *testing.T) {
	w := store.New(store.Options{})
	one := func(arn string) *store.Accelerator {
		return &store.Accelerator{ARN: arn, IPv4: []netip.Addr{netip.MustParseAddr("75.2.0." + arn)}, Listeners: []*store.AcceleratorListener{
			{ARN: arn + "/tcp", Protocol: "TCP", Ranges: []store.PortRange{{From: 80, To: 90}}, Groups: []*store.EndpointGroup{{ARN: arn + "/g", Region: "us-west-2"}}},
			{ARN: arn + "/udp", Protocol: "UDP", Ranges: []store.PortRange{{From: 80, To: 90}}},
		}}
	}
	for what, c := range map[string]struct {
		change func(a *store.Accelerator)
		want   string
	}{
		"valid":          {func(*store.Accelerator) {}, ""},
		"double address": {func(a *store.Accelerator) { a.IPv4[0] = netip.MustParseAddr("75.2.0.1") }, "both have 75.2.0.1"},
		"double port":    {func(a *store.Accelerator) { a.Listeners[1].Protocol = "TCP" }, "share a port"},
		"double region": {func(a *store.Accelerator) {
			a.Listeners[0].Groups = append(a.Listeners[0].Groups, &store.EndpointGroup{ARN: "h", Region: "us-west-2"})
		}, "two endpoint groups in us-west-2"},
		"override": {func(a *store.Accelerator) {
			a.Listeners[0].Groups[0].Overrides = []store.PortOverride{{Listener: 80, Endpoint: 85}}
		}, "leads to port 85"},
	} {
		st := w.AcceleratorState("123456789012").Accelerators
		st["1"], st["2"] = one("1"), one("2")
		c.change(st["2"])
		broken := strings.Join(w.CheckInvariants(), "\n")
		if broken == "" != (c.want == "") || !strings.Contains(broken, c.want) {
			t.Errorf("%s: %q, want %q", what, broken, c.want)
		}
	}
}

// TestStaticAddressesMapToLocalAddresses checks to which local address a static address maps, and that random addresses of a
// range are addresses that a host can have.
func TestStaticAddressesMapToLocalAddresses(t *testing.T) {
	cfg := store.DefaultConfig().Accelerator
	for public, want := range map[string]string{
		"75.2.3.4": "127.252.3.4", "99.83.3.4": "127.253.3.4", "203.0.113.9": "127.254.113.9",
	} {
		if got := cfg.LocalAddress(netip.MustParseAddr(public)); got.String() != want {
			t.Errorf("local address of %s: %s, want %s", public, got, want)
		}
	}
	w := store.New(store.Options{})
	for _, block := range []string{"75.2.0.0/16", "192.0.2.16/28", "2600:9000:a000::/48"} {
		p := netip.MustParsePrefix(block)
		seen := map[netip.Addr]bool{}
		for range 300 {
			a := w.RandomAddress(p)
			if !p.Contains(a) || a == p.Addr() || !p.Contains(a.Next()) {
				t.Fatalf("%s is not an address of hosts in %s", a, block)
			}
			seen[a] = true
		}
		if len(seen) < 14 {
			t.Errorf("only %d addresses of %s", len(seen), block)
		}
	}
}
