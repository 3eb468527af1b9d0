package resolver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newResolver returns a resolver of the standard library that queries the server. If network is not empty, it is the only
// network.
func newResolver(s *Server, network string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, asked, _ string) (net.Conn, error) {
		if network != "" {
			asked = network
		}
		return (&net.Dialer{}).DialContext(ctx, asked, s.Addr().String())
	}}
}

func TestLookupOverUDPAndTCP(t *testing.T) {
	var many []netip.Addr
	for i := range 100 {
		many = append(many, netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}))
	}
	names := map[string][]netip.Addr{
		"lb-1.eu-west-1.elb.amazonaws.com": {netip.MustParseAddr("127.77.1.5"), netip.MustParseAddr("127.77.2.5")},
		"dual.example.com":                 {netip.MustParseAddr("127.0.0.9"), netip.MustParseAddr("::1")},
		"many.example.com":                 many,
		"empty.example.com":                nil,
	}
	s, err := Start("127.0.0.1:0", func(name string) ([]netip.Addr, bool) {
		a, ok := names[name]
		return a, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	for _, network := range []string{"udp", "tcp"} {
		for _, c := range []struct{ network, name, want string }{
			{"ip4", "lb-1.eu-west-1.elb.amazonaws.com.", "lb-1.eu-west-1.elb.amazonaws.com"},
			{"ip4", "LB-1.eu-west-1.ELB.amazonaws.com.", "lb-1.eu-west-1.elb.amazonaws.com"},
			{"ip", "dual.example.com.", "dual.example.com"},
		} {
			got, err := newResolver(s, network).LookupNetIP(t.Context(), c.network, c.name)
			if err != nil {
				t.Fatalf("%s %s: %v", network, c.name, err)
			}
			slices.SortFunc(got, netip.Addr.Compare)
			want := slices.Clone(names[c.want])
			slices.SortFunc(want, netip.Addr.Compare)
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", network, c.name, diff)
			}
		}
		for _, name := range []string{"unknown.example.com.", "empty.example.com."} {
			_, err := newResolver(s, network).LookupNetIP(t.Context(), "ip4", name)
			var dnsErr *net.DNSError
			if !errors.As(err, &dnsErr) || !dnsErr.IsNotFound {
				t.Errorf("%s %s: want not found, got %v", network, name, err)
			}
		}
	}
	got, err := newResolver(s, "").LookupNetIP(t.Context(), "ip4", "many.example.com.")
	if err != nil || len(got) != 100 {
		t.Errorf("an answer too long for UDP: %d addresses, %v", len(got), err)
	}
}

func TestAddressInUseIsAnError(t *testing.T) {
	none := func(string) ([]netip.Addr, bool) { return nil, false }
	s, err := Start("127.0.0.1:0", none)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Start(s.Addr().String(), none); err == nil {
		t.Error("a second server started on the same address")
	}
	if _, err := Start("nonsense", none); err == nil {
		t.Error("a malformed address was accepted")
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x03org\x00\x00\x01\x00\x01"))
	f.Fuzz(func(_ *testing.T, message []byte) {
		replyTo(message, func(string) ([]netip.Addr, bool) { return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, true }, maxUDPBytes)
	})
}
