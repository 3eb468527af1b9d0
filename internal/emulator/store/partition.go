package store

import "time"

// Partition is the state of one account in one region. Maps of resources have the resource ID as the key.
type Partition struct {
	Account, Region string

	VPCs              map[string]*VPC
	Subnets           map[string]*Subnet
	SecurityGroups    map[string]*SecurityGroup
	Instances         map[string]*Instance
	NetworkInterfaces map[string]*NetworkInterface
	RouteTables       map[string]*RouteTable
	InternetGateways  map[string]*InternetGateway
	Addresses         map[string]*Address
	PrefixLists       map[string]*PrefixList
	IPAMPools         map[string]*IPAMPool
	CoIPPools         map[string]*CoIPPool
	// Tags has the tags of EC2 resources, by resource ID.
	Tags map[string]map[string]string
	// Tokens maps an operation with the client token of a call to the ID of the resource that the call created. A repeated
	// request with the same token creates no other resource.
	Tokens map[string]string
	// Zones has the zones of the region, ordered by name.
	Zones []*Zone

	ELB         *ELBState
	ACM         *ACMState
	WAFv2       *WAFv2State
	WAFRegional *WAFRegionalState
	Shield      *ShieldState
	Route53     *Route53State
	// Accelerators is used only in the region AcceleratorRegion.
	Accelerators *AcceleratorState

	store *Store
}

func newPartition(w *Store, account, region string) *Partition {
	p := &Partition{Account: account, Region: region}
	p.init(w)
	return p
}

// init sets the partition's store, and replaces nil maps and pointers by empty ones. A restored state may have nil maps and
// pointers if it was written by hand.
func (p *Partition) init(w *Store) {
	p.store = w
	ensureMap(&p.VPCs)
	ensureMap(&p.Subnets)
	ensureMap(&p.SecurityGroups)
	ensureMap(&p.Instances)
	ensureMap(&p.NetworkInterfaces)
	ensureMap(&p.RouteTables)
	ensureMap(&p.InternetGateways)
	ensureMap(&p.Addresses)
	ensureMap(&p.PrefixLists)
	ensureMap(&p.IPAMPools)
	ensureMap(&p.CoIPPools)
	ensureMap(&p.Tags)
	ensureMap(&p.Tokens)
	if p.Zones == nil {
		p.Zones = defaultZones(p.Region)
	}
	if p.ELB == nil {
		p.ELB = newELBState()
	}
	p.ELB.region = p.Region
	if p.ACM == nil {
		p.ACM = newACMState()
	}
	if p.WAFv2 == nil {
		p.WAFv2 = newWAFv2State()
	}
	if p.WAFRegional == nil {
		p.WAFRegional = newWAFRegionalState()
	}
	if p.Shield == nil {
		p.Shield = newShieldState()
	}
	if p.Route53 == nil {
		p.Route53 = newRoute53State()
	}
	if p.Accelerators == nil {
		p.Accelerators = newAcceleratorState()
	}
	p.Accelerators.init()
}

func ensureMap[V any](m *map[string]V) {
	if *m == nil {
		*m = map[string]V{}
	}
}

// Store returns the store to which the partition belongs.
func (p *Partition) Store() *Store { return p.store }

func (p *Partition) now() time.Time { return p.store.Clock.Now() }

// ARN returns the ARN of a resource in the partition's account and region, such as
// arn:aws:ec2:us-west-2:123456789012:subnet/subnet-0….
func (p *Partition) ARN(service, resource string) string {
	return "arn:" + p.AWSPartition().Name + ":" + service + ":" + p.Region + ":" + p.Account + ":" + resource
}
