package dataplane

import (
	"net/netip"
	"strings"
	"testing"
)

// anycastOf is an accelerator with a static address and ports.
func anycastOf(arn, public, local string, ports ...PortRange) Accelerator {
	return Accelerator{ARN: arn, DNSNames: []string{arn + ".awsglobalaccelerator.com"}, Addresses: []StaticAddress{{netip.MustParseAddr(public), netip.MustParseAddr(local)}},
		Listeners: []AcceleratorListener{{ARN: arn + "/l", Ports: ports}}}
}

func TestWhatCannotBeOpenedIsNamed(t *testing.T) {
	p := startPlane(t)
	wide := anycastOf("wide", "75.2.0.1", "127.252.0.1", PortRange{1000, 1000}, PortRange{2000, 9000})
	same := anycastOf("same", "75.2.0.1", "127.252.0.1", PortRange{1000, 1000})
	err := p.Apply(Config{Accelerators: []Accelerator{wide, same}})
	if err == nil || !strings.Contains(err.Error(), "accelerator wide: it has more than 200 ports") || !strings.Contains(err.Error(), "75.2.0.1:1000 is already served by wide") {
		t.Errorf("error %v", err)
	}
	if n := len(p.Entrances()); n != 200 {
		t.Errorf("%d ports are open, want 200", n)
	}
	// Names resolve without a port too.
	if found, ok := p.Resolve("WIDE.awsglobalaccelerator.com."); !ok || len(found) != 1 || found[0].String() != "127.252.0.1" {
		t.Errorf("the name has %v", found)
	}
	apply(t, p, Config{Accelerators: []Accelerator{anycastOf("wide", "75.2.0.1", "127.252.0.1", PortRange{1000, 1001})}})
	before := p.Entrances()
	apply(t, p, Config{Accelerators: []Accelerator{anycastOf("wide", "75.2.0.1", "127.252.0.1", PortRange{1001, 1002})}})
	after := p.Entrances()
	if len(before) != 2 || len(after) != 2 || before[1].Real != after[0].Real || after[1].Static.Port() != 1002 {
		t.Errorf("a port that stays is opened again: %v, then %v", before, after)
	}
	apply(t, p, Config{})
	if n := len(p.Entrances()); n != 0 {
		t.Errorf("%d ports are open without an accelerator", n)
	}
	if _, ok := p.Resolve("wide.awsglobalaccelerator.com"); ok {
		t.Error("the name of a deleted accelerator resolves")
	}
}
