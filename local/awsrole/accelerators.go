package awsrole

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// deploymentDelay is the time until AWS has deployed a change of an accelerator. It is long enough that tests can
// observe it, and far shorter than in AWS.
const deploymentDelay = 5 * time.Second

// configureAccelerators sets the configuration of accelerators. Static addresses are replaced by addresses in
// f.acceleratorRange, so that local worlds do not share addresses: each network zone has a /24, and a third /24 is for
// addresses of the account (BYOIP).
func (f flags) configureAccelerators(c *store.AcceleratorConfig) error {
	p, err := netip.ParsePrefix(f.acceleratorRange)
	if err != nil || p.Bits() != 22 || !p.Addr().Is4() {
		return fmt.Errorf("--accelerators %q is not an IPv4 range with a prefix length of 22", f.acceleratorRange)
	}
	part := func(i byte) netip.Prefix {
		a := p.Masked().Addr().As4()
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{a[0], a[1], a[2] + i, 0}), 24)
	}
	c.Home, c.DeploymentDelay, c.BYOIPLocal = f.region, deploymentDelay, part(2)
	c.Zones = []store.AcceleratorZone{
		{Public: netip.MustParsePrefix("75.2.0.0/24"), Local: part(0)},
		{Public: netip.MustParsePrefix("99.83.0.0/24"), Local: part(1)},
	}
	return nil
}
