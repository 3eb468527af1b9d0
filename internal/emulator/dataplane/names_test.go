package dataplane

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDNSNamesResolveToNodes(t *testing.T) {
	p := startPlane(t)
	if _, ok := p.Resolve("web-1.elb.amazonaws.com"); ok {
		t.Error("a name resolves before any configuration")
	}
	apply(t, p, Config{LoadBalancers: []LoadBalancer{{ARN: "lb", DNSName: "Web-1.elb.amazonaws.com", Nodes: []Node{
		{Zone: "a", Address: netip.MustParseAddr("10.250.1.5")}, {Zone: "b", Address: netip.MustParseAddr("10.250.2.5")},
	}}}})
	want := []netip.Addr{netip.MustParseAddr("127.250.1.5"), netip.MustParseAddr("127.250.2.5")}
	for _, name := range []string{"web-1.elb.amazonaws.com", "WEB-1.elb.amazonaws.com.", "dualstack.web-1.elb.amazonaws.com"} {
		got, ok := p.Resolve(name)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || !ok {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	apply(t, p, Config{})
	if _, ok := p.Resolve("web-1.elb.amazonaws.com"); ok {
		t.Error("the name of a deleted load balancer still resolves")
	}
}
