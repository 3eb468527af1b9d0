package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Facts has the answers to the questions of a stack.
type Facts struct {
	Region  string
	Account string // empty until an ARN has been read
	// VPCRanges has the IPv4 and IPv6 address ranges of the VPC; nil if not asked.
	VPCRanges []string
	// Subnets has the answers about subnets, by question key.
	Subnets map[string]SubnetAnswer
	// SecurityGroups has the answers about security groups by id or name, by question key.
	SecurityGroups map[string]SecurityGroupAnswer
	// Certificates has the certificates in ACM; nil if not asked.
	Certificates []Certificate
	// CertificatesAsked reports whether Certificates was asked for. An answer may be empty.
	CertificatesAsked bool
	// TargetGroups has the ARNs of target groups that were asked for by name or ARN; "" if a target group does not exist.
	TargetGroups map[string]string
	// TargetGroupOwners has the namespaces of the objects for which the controller created a target
	// group, by ARN. Target groups that the controller did not create are missing.
	TargetGroupOwners map[string]string
	// BackendSecurityGroup is the shared backend security group, nil if it does not exist.
	BackendSecurityGroup *SecurityGroup
	// BackendSecurityGroupUsers is the number of load balancers of other stacks of the cluster that
	// use the shared backend security group.
	BackendSecurityGroupUsers int
	// Schemes has the schemes of load balancers of other stacks, by question key; "" if no load balancer has the name.
	Schemes map[string]model.Scheme
	// RecordedAccelerator is the answer to model.AskAccelerator.
	RecordedAccelerator RecordedAccelerator
	// Endpoints has the load balancers that may be endpoints of an accelerator, by question key, ascending by ARN.
	Endpoints map[string][]EndpointLoadBalancer
	// Accelerators has the ARNs of the accelerators of the cluster that have a load balancer as an endpoint, by ARN of each
	// load balancer that was asked for.
	Accelerators map[string][]string
	// AddOns has the answers about add-ons, by question key.
	AddOns map[string]AddOn
	// WebACLs has the WAFv2 web ACLs that were asked for, by name.
	WebACLs map[string]WebACL
	// Subscription is the subscription to Shield Advanced; nil if not asked.
	Subscription *Subscription
	// TrustStores has the ARNs of trust stores that were asked for, by name; "" if no trust store has the name.
	TrustStores map[string]string
	// ALBTargets has the load balancers in target groups of type alb, by ARN of each target group that was asked for.
	// Targets that are being deregistered are omitted.
	ALBTargets map[string][]Target
	// OwnCertificates has the certificates that the controller requested or imported for the stack, ascending by ARN.
	OwnCertificates      []OwnCertificate
	OwnCertificatesAsked bool
	// CertificateOwners has the owners of the certificates that were asked for, by ARN.
	CertificateOwners map[string]CertificateOwner
	// Imports counts imported certificates. It is set if OwnCertificates was asked for.
	Imports Imports
	// HostedZones has the hosted zones; nil if not asked.
	HostedZones *HostedZones
	// Validations has the validations of the certificates that were asked for, by ARN.
	Validations map[string]Validation
	// PublicCertificates has the public certificates of the account and region, also those of other programs.
	PublicCertificates      []PublicCertificate
	PublicCertificatesAsked bool
	// SecretHashes has hashes of the client secrets that the controller wrote last, by ARN of the listener or rule. AWS never
	// returns client secrets. A secret without a hash is treated as equal to the desired one.
	SecretHashes map[string]string
	// Health has the target health of the target groups that were asked for, by ARN.
	Health map[string]Health
	// Adopter is the stack that was created to take over from this one, with its load balancer; nil if there is none.
	Adopter *Adopter
	// Withdrawn has the parts of the stack to which its members have no right any more; nil if not asked.
	Withdrawn *model.Withdrawn
	// OutsideChanges has the recent changes to resources of the stack outside of the controller.
	OutsideChanges []OutsideChange
	// Faults has the reasons why questions have no answer, by question key. A run does not repeat such a question.
	Faults map[string]Fault
	// Now is the time of the observation.
	Now time.Time
}

// Adopter is a stack that has taken over, or is taking over, and its load balancer without listeners.
type Adopter struct {
	Stack        model.StackID
	LoadBalancer LoadBalancer
	// NotTagged is set if no tag of the load balancer records the previous stack, but it has the name of the previous load
	// balancer.
	NotTagged bool
}

// Imports counts the imported certificates in ACM.
type Imports struct {
	AccountTotal int // of the account, also those of other programs
	// ByNamespace has the number of imports of the stack's namespace or IngressGroup, by namespace of the imported Secrets.
	ByNamespace map[string]int
	// OtherTenants has the numbers of imports of other namespaces and IngressGroups, in the order of their names.
	OtherTenants []int
}

// Fault returns why a question has no answer, nil if it has one or was not asked.
func (f Facts) Fault(q model.Question) *Fault {
	if x, ok := f.Faults[q.Key()]; ok {
		return &x
	}
	return nil
}

// KeepFaults copies the faults of an earlier observation, so that facts which could not be read remain
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

// withEntry sets an entry of a map that may be nil, and returns the map.
func withEntry[T any](m map[string]T, key string, value T) map[string]T {
	if m == nil {
		m = map[string]T{}
	}
	m[key] = value
	return m
}

// SubnetAnswer has the candidate subnets of one question.
type SubnetAnswer struct {
	Candidates []Subnet
	// ByReachability is set if no subnet had the role tag, and the candidates were selected by their
	// routes.
	ByReachability bool
	// Missing has the references that matched no subnet.
	Missing []string
}

// Subnet is a subnet in which a load balancer may be placed.
type Subnet struct {
	ID        string
	Name      string // tag Name
	Zone      string // name of the zone
	ZoneID    string
	ZoneType  string // availability-zone, local-zone, wavelength-zone
	Outpost   string // ARN of the Outpost
	FreeIPs   int32
	CIDR      string
	IPv6CIDRs []string // in state associated
	Tags      map[string]string
}

// SecurityGroupAnswer has the security groups of one question: those found by id, the ids of those found by name in the
// order of AWS, and the references that matched none.
type SecurityGroupAnswer struct {
	ByID    []string
	ByName  map[string][]string
	Missing []string
}

// Certificate is a certificate in ACM.
type Certificate struct {
	ARN     string
	Domains []string
	Status  string // ISSUED, …
	CA      string // ARN of a private CA
	// Imported reports whether the certificate was imported into ACM, by the controller or another program.
	Imported bool
	// Owner is the stack for which a controller requested or imported the certificate; nil if its tags were not read.
	Owner *CertificateOwner
}
