package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Facts are answers to a stack's questions.
type Facts struct {
	Region  string
	Account string // empty until an ARN has been read
	VPC     string
	// VPCRanges are the address ranges of the VPC, of either family; nil if not asked.
	VPCRanges []string
	// Subnets that were asked for, by question key.
	Subnets map[string]SubnetAnswer
	// Groups are the security groups that were asked for by id or name, by question key.
	Groups map[string]GroupAnswer
	// Certificates that ACM holds; nil if not asked.
	Certificates []Certificate
	// CertificatesAsked distinguishes an empty list from one that was not asked for.
	CertificatesAsked bool
	// TargetGroups that were asked for by name or ARN: ARN, or "" if there is none.
	TargetGroups map[string]string
	// TargetGroupOwners are the namespaces of the objects for which the controller created a target
	// group, by ARN. The controller did not create those that are missing here.
	TargetGroupOwners map[string]string
	// BackendGroup is the shared backend security group, nil if there is none.
	BackendGroup *SecurityGroup
	// BackendGroupUsers are the load balancers of the cluster, other than the stack's own, that
	// use the shared backend security group.
	BackendGroupUsers int
	// Schemes are the schemes of load balancers of other stacks, by question key; "" if there is none of that name.
	Schemes map[string]model.Scheme
	// Recorded is what the ARN is that AskAccelerator gives.
	Recorded Recorded
	// Endpoints are load balancers that may be endpoints of an accelerator, by question key, ascending by ARN.
	Endpoints map[string][]EndpointLoadBalancer
	// Accelerators are the ARNs of those of the cluster that have a load balancer as an endpoint, by its ARN, for those asked.
	Accelerators map[string][]string
	// AddOns by question key, for those asked.
	AddOns map[string]AddOn
	// WebACLs of WAFv2 that were asked for by name.
	WebACLs map[string]WebACL
	// Subscription to Shield Advanced; nil if not asked.
	Subscription *Subscription
	// TrustStores that were asked for by name: ARN, or "" if there is none of that name.
	TrustStores map[string]string
	// ALBTargets are the load balancers in target groups of type alb, by the target group's ARN,
	// for those asked. Those that are being deregistered do not count.
	ALBTargets map[string][]Target
	// OwnCertificates are the certificates that the controller requested or imported for the stack, ascending by ARN.
	OwnCertificates      []OwnCertificate
	OwnCertificatesAsked bool
	// CertificateOwners by ARN, for those asked.
	CertificateOwners map[string]CertificateOwner
	// Imports count certificates, once OwnCertificates were asked for.
	Imports Imports
	// Zones of DNS; nil if not asked.
	Zones *HostedZones
	// Validations by certificate ARN, for those asked.
	Validations map[string]Validation
	// PublicCertificates of the account and region, whoever requested them.
	PublicCertificates      []PublicCertificate
	PublicCertificatesAsked bool
	// Secrets are hashes of the client secrets that AWS was given last, by the ARN of the listener
	// or rule. AWS never returns client secrets; one that is missing counts as the desired one.
	Secrets map[string]string
	// Health by target group ARN, for those asked.
	Health map[string]Health
	// Adopter is the stack whose load balancer was made for this one, with that load balancer; nil if there is none.
	Adopter *Adopter
	// Withdrawn is to what of the stack its members have no right any more; nil if that was not asked.
	Withdrawn *model.Withdrawn
	// Foreign are the changes that others have made recently to resources of the stack.
	Foreign []Foreign
	// Faults are why questions have no answer, by question key. Such a question is not asked again.
	Faults map[string]Fault
	// Now is the time of the observation.
	Now time.Time
}

// Adopter is a stack with a load balancer that it has taken over, or is taking over, without its listeners.
type Adopter struct {
	Stack        model.StackID
	LoadBalancer LoadBalancer
	// Unmarked: no tag records for which stack it was made, and it has the name of that.
	Unmarked bool
}

// Imports count the imported certificates that are there.
type Imports struct {
	All int // of the account, whoever imported them
	// Of are the imports that the namespace of the stack, or its IngressGroup, has from the Secrets of a namespace.
	Of map[string]int
	// Others are the imports that the other namespaces and IngressGroups have, in the order of their names.
	Others []int
}

// Fault returns why a question has no answer, nil if it has one or was not asked.
func (f Facts) Fault(q model.Question) *Fault {
	if x, ok := f.Faults[q.Key()]; ok {
		return &x
	}
	return nil
}

// KeepFaults copies the faults of an earlier observation, so that what it could not read stays
// unavailable.
func (f *Facts) KeepFaults(earlier Facts) {
	for k, x := range earlier.Faults {
		f.Faults = withEntry(f.Faults, k, x)
	}
	for k, x := range earlier.AddOns {
		if x.Fault != nil {
			f.AddOns = withEntry(f.AddOns, k, x)
		}
	}
	for k, x := range earlier.WebACLs {
		if x.Fault != nil {
			f.WebACLs = withEntry(f.WebACLs, k, x)
		}
	}
}

func withEntry[T any](m map[string]T, key string, value T) map[string]T {
	if m == nil {
		m = map[string]T{}
	}
	m[key] = value
	return m
}

// SubnetAnswer are the candidates for one question, with what the choice depends on.
type SubnetAnswer struct {
	Candidates []Subnet
	// ByReachability is set if no subnet had the role tag and the candidates were found by their
	// routes.
	ByReachability bool
	// Missing are references that matched nothing.
	Missing []string
}

// Subnet is a subnet in which a load balancer may be placed.
type Subnet struct {
	ID        string
	Name      string // tag Name
	Zone      string // name of the zone
	ZoneID    string
	ZoneType  string // availability-zone, local-zone, wavelength-zone
	Outpost   string // ARN
	FreeIPs   int32
	CIDR      string
	IPv6CIDRs []string // in state associated
	Tags      map[string]string
	VPC       string
}

// GroupAnswer maps each reference (id or name) to the ids found, in AWS's order.
type GroupAnswer struct {
	ByID    []string
	ByName  map[string][]string
	Missing []string
}

// Certificate of ACM.
type Certificate struct {
	ARN     string
	Domains []string
	Status  string // ISSUED, …
	CA      string // ARN of a private CA
	// Imported reports whether it was imported into ACM, by a controller or anybody else.
	Imported bool
	// Owner is the stack for which a controller requested or imported it; nil if its tags were not read.
	Owner *CertificateOwner
}
