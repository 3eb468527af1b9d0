package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Facts has the answers to the questions of a stack. The key of a map "by question key" is the result of model.Question.Key.
type Facts struct {
	Region  string
	Account string // AWS account; empty until an ARN has been read
	// VPCRanges has the IPv4 and IPv6 address ranges of the VPC; nil if they were not asked for.
	VPCRanges []string
	// Subnets has the answers about subnets, by question key.
	Subnets map[string]SubnetAnswer
	// SecurityGroups has the answers about security groups by id or name, by question key.
	SecurityGroups map[string]SecurityGroupAnswer
	// Certificates has the issued certificates in ACM; nil if they were not asked for, or if there are none.
	Certificates []Certificate
	// CertificatesAsked reports whether Certificates were asked for.
	CertificatesAsked bool
	// TargetGroups has the ARNs of target groups that were asked for by name or ARN; "" if a target group does not exist.
	TargetGroups map[string]string
	// TargetGroupOwners has, by the ARN of a target group, the namespace of the object for which the controller created the
	// target group. Target groups that the controller did not create are missing.
	TargetGroupOwners map[string]string
	// BackendSecurityGroup is the shared backend security group; nil if it does not exist.
	BackendSecurityGroup *SecurityGroup
	// BackendSecurityGroupUsers is the number of load balancers of other stacks of the cluster that use the shared backend
	// security group.
	BackendSecurityGroupUsers int
	// Schemes has the schemes of load balancers of other stacks, by question key; "" if there is no load balancer with the
	// DNS name.
	Schemes map[string]model.Scheme
	// RecordedAccelerator is the answer to model.AskAccelerator.
	RecordedAccelerator RecordedAccelerator
	// Endpoints has the load balancers that may be endpoints of an accelerator, by question key, ascending by ARN.
	Endpoints map[string][]EndpointLoadBalancer
	// Accelerators has the ARNs of the accelerators of the cluster that have a load balancer as an endpoint, by the ARN of
	// each load balancer that was asked for.
	Accelerators map[string][]string
	// AddOns has the resources of other AWS services that are associated with load balancers, by question key.
	AddOns map[string]AddOn
	// WebACLs has the WAFv2 web ACLs that were searched for, by name.
	WebACLs map[string]WebACL
	// Subscription is the subscription to Shield Advanced; nil if it was not asked for.
	Subscription *Subscription
	// TrustStores has the ARNs of the trust stores that were asked for, by name; "" if no trust store has the name.
	TrustStores map[string]string
	// ALBTargets has the targets, which are load balancers, of target groups of type alb, by the ARN of the target group.
	// Targets that are being deregistered are missing.
	ALBTargets map[string][]Target
	// OwnCertificates has the certificates that the controller requested or imported for the stack, ascending by ARN.
	OwnCertificates      []OwnCertificate
	OwnCertificatesAsked bool
	// CertificateOwners has the owners of the certificates that were asked for, by the ARN of the certificate.
	CertificateOwners map[string]CertificateOwner
	// Imports counts imported certificates. It is set if OwnCertificates were asked for.
	Imports Imports
	// HostedZones has the hosted zones; nil if they were not asked for.
	HostedZones *HostedZones
	// Validations has the validations of the certificates that were asked for, by the ARN of the certificate.
	Validations map[string]Validation
	// PublicCertificates has the public certificates of the account and region, including those of other programs.
	PublicCertificates      []PublicCertificate
	PublicCertificatesAsked bool
	// SecretHashes has hashes of the client secrets that the controller wrote last, by the ARN of the listener or rule. They
	// are needed because AWS never returns client secrets. A client secret without a hash is treated as equal to the desired
	// one.
	SecretHashes map[string]string
	// Health has the health of the targets of the target groups that were asked for, by the ARN of the target group.
	Health map[string]Health
	// Adopter is the stack that takes over, or has taken over, the load balancer of this stack; nil if there is none.
	Adopter *Adopter
	// Withdrawn has the resources of the stack that its members may not use any more; nil if this was not determined.
	Withdrawn *model.Withdrawn
	// OutsideChanges has the recent changes to resources of the stack that the controller did not make.
	OutsideChanges []OutsideChange
	// Faults has the reasons why questions have no answer, by question key. A question with a fault is not asked again in
	// the same run.
	Faults map[string]Fault
	// Now is the time at which the state was observed.
	Now time.Time
}

// Adopter is a stack that takes over, or has taken over, the load balancer of another stack. LoadBalancer is this load
// balancer, without its listeners.
type Adopter struct {
	Stack        model.StackID
	LoadBalancer LoadBalancer
	// NotTagged is set if the load balancer has no tag that names its previous stack, and was recognized by its name.
	NotTagged bool
}

// Imports counts the imported certificates in ACM.
type Imports struct {
	AccountTotal int // in the account, including those of other programs
	// ByNamespace has the number of certificates that were imported for the namespace or IngressGroup of the stack, by the
	// namespace of the Secrets.
	ByNamespace map[string]int
	// OtherTenants has the number of certificates that were imported for each other namespace and IngressGroup, in the order
	// of their names.
	OtherTenants []int
}

// Fault returns the reason why a question has no answer; nil if it has an answer or was not asked.
func (f Facts) Fault(q model.Question) *Fault {
	if x, ok := f.Faults[q.Key()]; ok {
		return &x
	}
	return nil
}

// CopyFaults adds the faults of an earlier observation, so that the questions that had no answer then have none now.
func (f *Facts) CopyFaults(earlier Facts) {
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

// withEntry sets an entry of a map, and returns the map. If m is nil, it creates the map.
func withEntry[T any](m map[string]T, key string, value T) map[string]T {
	if m == nil {
		m = map[string]T{}
	}
	m[key] = value
	return m
}

// SubnetAnswer is the answer to a question for subnets. It has the subnets that a load balancer may use.
type SubnetAnswer struct {
	Candidates []Subnet
	// ByReachability is set if no subnet had the role tag, so that the candidates were selected by their routes.
	ByReachability bool
	// Missing has the ids and names that matched no subnet.
	Missing []string
}

// Subnet is a subnet in which a load balancer may be placed.
type Subnet struct {
	ID        string
	Name      string // value of the tag Name
	Zone      string // name of the Availability Zone
	ZoneID    string
	ZoneType  string // availability-zone, local-zone, wavelength-zone
	Outpost   string // ARN of the Outpost
	FreeIPs   int32
	CIDR      string
	IPv6CIDRs []string // in state associated
	Tags      map[string]string
}

// SecurityGroupAnswer is the answer to a question for security groups. It has the ids that exist, in the order of the
// question, and for each name the ids of the security groups with this name, in ascending order. Missing has the ids and
// names that matched no security group, and names whose wildcards matched security groups with different names.
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
	// Imported reports whether the certificate was imported into ACM, by the controller or by another program.
	Imported bool
	// Owner is the stack for which a controller requested or imported the certificate; nil if the tags were not read.
	Owner *CertificateOwner
}
