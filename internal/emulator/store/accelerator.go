package store

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
)

// AcceleratorRegion is the only region with an API endpoint of Global Accelerator. The partition of an account in this
// region has the account's Global Accelerator state.
const AcceleratorRegion = "us-west-2"

// AcceleratorState is the state of Global Accelerator in one account.
type AcceleratorState struct {
	Accelerators map[string]*Accelerator // by ARN
	// Creations has the calls that created a resource and had an idempotency token, by operation and token.
	Creations map[string]AcceleratorCreation
	CIDRs     map[string]*AcceleratorCIDR // address ranges of the account (BYOIP), by CIDR
	// Interfaces has the ENIs that Global Accelerator created for endpoints with client IP preservation.
	Interfaces map[string]AcceleratorENI // by ENI ID
}

func newAcceleratorState() *AcceleratorState {
	s := &AcceleratorState{}
	s.init()
	return s
}

func (s *AcceleratorState) init() {
	ensureMap(&s.Accelerators)
	ensureMap(&s.Creations)
	ensureMap(&s.CIDRs)
	ensureMap(&s.Interfaces)
}

// AcceleratorCreation is a call that created a resource and had an idempotency token.
type AcceleratorCreation struct {
	Input string // JSON of the request without the token
	ARN   string // ARN of the resource
}

// AcceleratorENI identifies the region and the subnet of an ENI of Global Accelerator.
type AcceleratorENI struct{ Region, Subnet string }

// AcceleratorCIDR is an address range of an account (BYOIP).
type AcceleratorCIDR struct {
	Block      netip.Prefix
	Ready      time.Time // when provisioning ends
	Advertised time.Time // when advertising is complete, zero if it was not requested
	Events     []AcceleratorEvent
}

// State returns the state of the address range at a time.
func (c *AcceleratorCIDR) State(now time.Time) gatypes.ByoipCidrState {
	switch {
	case now.Before(c.Ready):
		return gatypes.ByoipCidrStatePendingProvisioning
	case c.Advertised.IsZero():
		return gatypes.ByoipCidrStateReady
	case now.Before(c.Advertised):
		return gatypes.ByoipCidrStatePendingAdvertising
	}
	return gatypes.ByoipCidrStateAdvertising
}

// AcceleratorEvent is a message about a change of an address range or an accelerator.
type AcceleratorEvent struct {
	Message string
	At      time.Time
}

// Accelerator is a standard accelerator with its listeners.
type Accelerator struct {
	ARN        string
	Name       string
	Addressing gatypes.IpAddressType
	Enabled    bool
	IPv4, IPv6 []netip.Addr // static IP addresses
	DNSName    string
	// DualStackDNSName is empty if the accelerator has no IPv6 addresses.
	DualStackDNSName string
	Created          time.Time
	Modified         time.Time
	// Deployed is the time at which the deployment of the last change ends.
	Deployed time.Time
	// DisabledFrom is the time from which a disabled accelerator can be deleted.
	DisabledFrom time.Time
	Events       []AcceleratorEvent
	Tags         map[string]string
	Listeners    []*AcceleratorListener
}

// Status returns the status of the accelerator at a time.
func (a *Accelerator) Status(now time.Time) gatypes.AcceleratorStatus {
	if now.Before(a.Deployed) {
		return gatypes.AcceleratorStatusInProgress
	}
	return gatypes.AcceleratorStatusDeployed
}

// AcceleratorListener is a listener of an accelerator.
type AcceleratorListener struct {
	ARN      string
	Ranges   []PortRange
	Protocol gatypes.Protocol
	Affinity gatypes.ClientAffinity
	Groups   []*EndpointGroup
}

// PortRange is a range of ports, both ends included.
type PortRange struct{ From, To int32 }

// Overlaps reports whether two ranges have a port in common.
func (r PortRange) Overlaps(other PortRange) bool { return r.From <= other.To && r.To >= other.From }

// HasPort reports whether a port is in a range of the listener.
func (l *AcceleratorListener) HasPort(port int32) bool {
	return slices.ContainsFunc(l.Ranges, func(r PortRange) bool { return r.Overlaps(PortRange{port, port}) })
}

// EndpointGroup has the endpoints of a listener in one region.
type EndpointGroup struct {
	ARN       string
	Region    string
	Dial      float32 // percent
	Endpoints []*AcceleratorEndpoint
	Overrides []PortOverride

	CheckPort     int32 // 0 for the first port of the listener
	CheckProtocol gatypes.HealthCheckProtocol
	CheckPath     string
	CheckInterval int32 // seconds
	Threshold     int32
}

// PortOverride maps a listener port to another port of the endpoints.
type PortOverride struct{ Listener, Endpoint int32 }

// AcceleratorEndpoint is a load balancer, an instance or an Elastic IP address behind an accelerator.
type AcceleratorEndpoint struct {
	ID string
	// Weight determines the endpoint's share of the traffic of the endpoint group.
	Weight int32
	// PreserveClient is set if the endpoint has client IP preservation.
	PreserveClient bool
	Added          time.Time
	// Checked is the last result of the endpoint group's health checks. It is "" before the first result, and for load
	// balancers.
	Checked gatypes.HealthState
	// Forced overrides the health state. It is "" for no override.
	Forced gatypes.HealthState
}

// Endpoint returns the endpoint with an ID, or nil if there is none.
func (g *EndpointGroup) Endpoint(id string) *AcceleratorEndpoint {
	for _, e := range g.Endpoints {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// AcceleratorState returns the Global Accelerator state of an account.
func (w *Store) AcceleratorState(account string) *AcceleratorState {
	return w.Partition(account, AcceleratorRegion).Accelerators
}

// ResolveARN returns the accelerator, the listener and the endpoint group that an ARN contains. It returns nil for a
// resource that is not in the ARN or does not exist.
func (s *AcceleratorState) ResolveARN(arn string) (a *Accelerator, l *AcceleratorListener, g *EndpointGroup) {
	root, rest, _ := strings.Cut(arn, "/listener/")
	if a = s.Accelerators[root]; a == nil || rest == "" {
		return a, nil, nil
	}
	id, group, _ := strings.Cut(rest, "/endpoint-group/")
	for _, l = range a.Listeners {
		if l.ARN != root+"/listener/"+id {
			continue
		}
		for _, g := range l.Groups {
			if group != "" && g.ARN == arn {
				return a, l, g
			}
		}
		return a, l, nil
	}
	return a, nil, nil
}

// HasARN reports whether an ARN is that of an existing accelerator, listener or endpoint group.
func (s *AcceleratorState) HasARN(arn string) bool {
	a, l, g := s.ResolveARN(arn)
	return a != nil && a.ARN == arn || l != nil && l.ARN == arn || g != nil
}

// EachEndpointGroup calls visit for each endpoint group with its accelerator and its listener, ordered by the ARN of the
// accelerator.
func (s *AcceleratorState) EachEndpointGroup(visit func(*Accelerator, *AcceleratorListener, *EndpointGroup)) {
	for _, arn := range SortedKeys(s.Accelerators) {
		a := s.Accelerators[arn]
		for _, l := range a.Listeners {
			for _, g := range l.Groups {
				visit(a, l, g)
			}
		}
	}
}

// AcceleratorConfig configures the emulation of Global Accelerator.
type AcceleratorConfig struct {
	// DeploymentDelay is the time from the last change of an accelerator until the accelerator has the status DEPLOYED.
	DeploymentDelay time.Duration
	// HealthDelay is the time during which the health of a new endpoint is INITIAL.
	HealthDelay time.Duration
	// TransactionTime is the time after a change during which other operations on the same accelerator fail with
	// TransactionInProgressException. It applies to operations for which AWS documents this error. With 0, no operation
	// fails.
	TransactionTime time.Duration
	// BusyAfterDisable makes operations fail with TransactionInProgressException instead of AcceleratorNotDisabledException
	// while the accelerator is being disabled.
	BusyAfterDisable bool
	// RangeDelay is how long the provisioning of an address range takes, and how long it takes until the range is
	// advertised.
	RangeDelay time.Duration
	// Zones has the ranges of static IPv4 addresses. An accelerator has one address in each range, unless an address of
	// the account (BYOIP) replaces the address.
	Zones []AcceleratorZone
	// IPv6 has the ranges of static IPv6 addresses. A dual-stack accelerator has one address in each range.
	IPv6 []netip.Prefix
	// BYOIPLocal is the range of addresses of this machine that replace static addresses from address ranges of accounts
	// (BYOIP). Other static addresses are in Zones.
	BYOIPLocal netip.Prefix
	// Home is the region that is nearest to clients outside all ranges in Nearest. Other regions follow, ordered by name.
	Home string
	// Nearest lists ranges of clients with the regions that are nearest to them. The first range that contains a client is
	// used.
	Nearest []ClientRange
}

// AcceleratorZone is a network zone of AWS, in which an accelerator has one static IPv4 address.
type AcceleratorZone struct {
	// Public is the range of static addresses in the zone. Local is the range of addresses of this machine that replace
	// the static addresses. Both have the same prefix length.
	Public, Local netip.Prefix
}

// ClientRange is a range of client addresses, with regions in the order of their distance from these clients.
type ClientRange struct {
	Clients netip.Prefix
	Regions []string
}

func defaultAcceleratorConfig() AcceleratorConfig {
	return AcceleratorConfig{
		DeploymentDelay: 30 * time.Second,
		HealthDelay:     time.Second,
		RangeDelay:      time.Second,
		Zones: []AcceleratorZone{
			{netip.MustParsePrefix("75.2.0.0/16"), netip.MustParsePrefix("127.252.0.0/16")},
			{netip.MustParsePrefix("99.83.0.0/16"), netip.MustParsePrefix("127.253.0.0/16")},
		},
		IPv6:       []netip.Prefix{netip.MustParsePrefix("2600:9000:a000::/48"), netip.MustParsePrefix("2600:9000:b000::/48")},
		BYOIPLocal: netip.MustParsePrefix("127.254.0.0/16"),
	}
}

// LocalAddress returns the address of this machine that replaces a static IPv4 address.
func (c AcceleratorConfig) LocalAddress(public netip.Addr) netip.Addr {
	for _, z := range c.Zones {
		if z.Public.Contains(public) {
			return replaceRange(public, z.Local)
		}
	}
	return replaceRange(public, c.BYOIPLocal)
}

// replaceRange returns an IPv4 address in which the first bits are replaced by those of a range.
func replaceRange(a netip.Addr, into netip.Prefix) netip.Addr {
	b, base := a.As4(), into.Masked().Addr().As4()
	for i := range b {
		ones := max(0, min(8, into.Bits()-8*i))
		mask := byte(0xff << (8 - ones))
		b[i] = base[i]&mask | b[i]&^mask
	}
	return netip.AddrFrom4(b)
}
