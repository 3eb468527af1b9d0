package fault

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/authz"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Bucket is a token bucket of one account in one region. Each call takes one token. If there is no token, the call is
// throttled.
type Bucket struct {
	Service string
	// Name distinguishes the buckets of a service. PerOperation gives each operation a separate bucket.
	Name         string
	PerOperation bool
	// Operations are patterns in the syntax of path.Match. The bucket is for operations that match one of them.
	Operations []string
	// UnfilteredOnly limits the bucket to calls with Call.Unfiltered.
	UnfilteredOnly bool
	// Capacity is the maximum number of tokens. Refill is the number of tokens that are added per second.
	Capacity, Refill float64
	// Shared makes each matching call take a token of this bucket, in addition to a token of the first matching bucket that
	// is not shared.
	Shared bool
}

// Limits is a list of token buckets. A call takes a token of the first matching bucket that is not shared, and of every
// matching bucket that is shared.
type Limits struct {
	Name    string
	Buckets []Bucket
	// OtherClient is the share of the tokens, from 0 to 1, that a simulated other client of the account takes from each
	// bucket, both of the initial and of the added tokens. The other client always takes its share, because it repeats
	// throttled calls.
	OtherClient float64 `json:",omitempty"`
}

type bucketKey struct{ account, region, service, name string }

// bucketLevel contains the number of tokens in a bucket at the time updatedAt.
type bucketLevel struct {
	tokens    float64
	updatedAt time.Time
}

// takeTokens takes a token from each bucket that applies to a call. It reports whether one of these buckets had no token.
func (s *Set) takeTokens(c Call) bool {
	over, served := false, false
	for _, b := range s.limits.Buckets {
		if b.Service != c.Service || (served && !b.Shared) || !b.matches(c) {
			continue
		}
		if !b.Shared {
			served = true
		}
		name := b.Name
		if b.PerOperation {
			name += ":" + c.Operation
		}
		key := bucketKey{c.Account, c.Region, c.Service, name}
		l := s.bucketLevels[key]
		if l == nil {
			l = &bucketLevel{tokens: b.Capacity * (1 - s.limits.OtherClient), updatedAt: c.Time}
			s.bucketLevels[key] = l
		}
		l.tokens = min(b.Capacity, l.tokens+b.Refill*(1-s.limits.OtherClient)*c.Time.Sub(l.updatedAt).Seconds())
		l.updatedAt = c.Time
		if l.tokens < 1 {
			over = true
			continue
		}
		l.tokens--
	}
	return over
}

func (b Bucket) matches(c Call) bool {
	if b.UnfilteredOnly && !c.Unfiltered {
		return false
	}
	for _, pattern := range b.Operations {
		if matchesPattern(pattern, c.Operation) {
			return true
		}
	}
	return false
}

var readOperationPatterns = []string{"Describe*", "Get*", "List*", "Search*"}

// DocumentedLimits returns the rate limits that AWS documents. It multiplies each rate and capacity by factor, because an
// account can have higher limits.
func DocumentedLimits(factor float64) Limits { return documentedLimits("documented", 200, 50, factor) }

// DocumentedLimits2025 returns the rate limits that AWS documented until March 2026, which allow fewer reads of load
// balancers. Older accounts and regions may still have them.
func DocumentedLimits2025(factor float64) Limits {
	return documentedLimits("documented-2025", 40, 10, factor)
}

func documentedLimits(name string, elbReads, elbReadRate, factor float64) Limits {
	const ec2, elb = "ec2", "elasticloadbalancing"
	l := Limits{Name: name, Buckets: []Bucket{
		{Service: ec2, Name: "unfiltered", PerOperation: true, UnfilteredOnly: true, Capacity: 50, Refill: 10, Operations: []string{
			"DescribeInstances", "DescribeInstanceStatus", "DescribeVolumes", "DescribeNetworkInterfaces", "DescribeSecurityGroups"}},
		{Service: ec2, Name: "references", PerOperation: true, Capacity: 20, Refill: 5, Operations: []string{
			"DescribeSecurityGroupReferences", "DescribeStaleSecurityGroups"}},
		{Service: ec2, Name: "read", PerOperation: true, Capacity: 100, Refill: 20, Operations: readOperationPatterns},
		{Service: ec2, Name: "tags", PerOperation: true, Capacity: 100, Refill: 10, Operations: []string{"CreateTags", "DeleteTags"}},
		{Service: ec2, Name: "interfaces", PerOperation: true, Capacity: 100, Refill: 5, Operations: []string{
			"CreateNetworkInterface", "DeleteNetworkInterface", "AssignPrivateIpAddresses", "UnassignPrivateIpAddresses",
			"AssignIpv6Addresses", "ModifyNetworkInterfaceAttribute", "TerminateInstances"}},
		{Service: ec2, Name: "launch", PerOperation: true, Capacity: 5, Refill: 2, Operations: []string{"RunInstances", "StartInstances"}},
		{Service: ec2, Name: "write", PerOperation: true, Capacity: 50, Refill: 5, Operations: []string{"*"}},

		{Service: elb, Name: "all", Shared: true, Capacity: elbReads, Refill: elbReadRate, Operations: []string{"*"}},
		{Service: elb, Name: "intensive", Capacity: 10, Refill: 0.2, Operations: []string{"CreateLoadBalancer", "SetSubnets"}},
		{Service: elb, Name: "registration", Capacity: 20, Refill: 4, Operations: []string{"RegisterTargets", "DeregisterTargets"}},
		{Service: elb, Name: "create-trust-store", Capacity: 10, Refill: 0.2, Operations: []string{"CreateTrustStore"}},
		{Service: elb, Name: "read-trust-stores", Capacity: 40, Refill: 10, Operations: []string{"DescribeTrustStore*"}},
		{Service: elb, Name: "write-trust-stores", Capacity: 10, Refill: 0.2, Operations: []string{
			"ModifyTrustStore", "DeleteTrustStore", "AddTrustStoreRevocations", "RemoveTrustStoreRevocations"}},
		{Service: elb, Name: "read", Capacity: elbReads, Refill: elbReadRate, Operations: readOperationPatterns},
		{Service: elb, Name: "write", Capacity: 20, Refill: 3, Operations: []string{"*"}},

		{Service: "wafv2", Name: "associate", PerOperation: true, Capacity: 1, Refill: 0.5, Operations: []string{"AssociateWebACL", "DisassociateWebACL"}},
		{Service: "wafv2", Name: "read", PerOperation: true, Capacity: 1, Refill: 1, Operations: []string{"GetWebACLForResource", "ListResourcesForWebACL"}},
		{Service: "waf-regional", Name: "associate", PerOperation: true, Capacity: 1, Refill: 0.5, Operations: []string{"AssociateWebACL", "DisassociateWebACL"}},
		{Service: "waf-regional", Name: "read", PerOperation: true, Capacity: 1, Refill: 1, Operations: []string{"GetWebACLForResource"}},
		{Service: "acm", Name: "list", Capacity: 8, Refill: 8, Operations: []string{"ListCertificates"}},
		{Service: "acm", Name: "describe", PerOperation: true, Capacity: 10, Refill: 10, Operations: []string{"DescribeCertificate", "ListTagsForCertificate"}},
		{Service: "acm", Name: "request", Capacity: 5, Refill: 5, Operations: []string{"RequestCertificate"}},
		{Service: "acm", Name: "import", Capacity: 1, Refill: 1, Operations: []string{"ImportCertificate"}},
		{Service: "acm", Name: "get", Capacity: 10, Refill: 10, Operations: []string{"GetCertificate"}},
		{Service: "tagging", Name: "read", Capacity: 15, Refill: 15, Operations: []string{"GetResources"}},
		{Service: "route53", Name: "all", Capacity: 5, Refill: 5, Operations: []string{"*"}},
		{Service: "sts", Name: "all", Capacity: 600, Refill: 600, Operations: []string{"*"}},
	}}
	for i := range l.Buckets {
		l.Buckets[i].Capacity *= factor
		l.Buckets[i].Refill *= factor
	}
	return l
}

// ThrottlingError returns the throttling error of a service.
func ThrottlingError(service string) *store.Error {
	switch service {
	case "ec2":
		return store.Errorf(store.UnprovenSource, "RequestLimitExceeded", "Request limit exceeded.").WithStatus(503)
	case "elasticloadbalancing", "sts", "iam", "route53":
		return store.Errorf(store.ReportSource("ansible-collections/community.aws#444"), "Throttling", "Rate exceeded").WithStatus(400)
	case "tagging":
		return store.Errorf(store.UnprovenSource, "ThrottledException", "Rate exceeded").WithStatus(400)
	}
	return store.Errorf(store.UnprovenSource, "ThrottlingException", "Rate exceeded").WithStatus(400)
}

// AccessDeniedError returns the error of a service for a caller who has no permission for an operation.
func AccessDeniedError(service, operation string) *store.Error {
	action := authz.ActionPrefix(service) + ":" + operation
	return authz.AccessDeniedError(service, "arn:aws:sts::123456789012:assumed-role/controller/fulcrum", action, "",
		"no identity-based policy allows the "+action+" action")
}
