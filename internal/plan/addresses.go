package plan

import "github.com/fulcrum-lb/fulcrum/internal/model"

// Addresses of the add-ons of the load balancer of a stack.
var (
	WebACLAddress     = Address{Kind: WebACL, ID: model.LoadBalancerID}
	ClassicACLAddress = Address{Kind: ClassicACL, ID: model.LoadBalancerID}
	ProtectionAddress = Address{Kind: Protection, ID: model.LoadBalancerID}
)

// Addresses of the resources of which a stack has at most one. BackendGroupAddress is the security group that all load
// balancers of the cluster share.
var (
	LoadBalancerAddress = Address{Kind: LoadBalancer, ID: model.LoadBalancerID}
	ManagedGroupAddress = Address{Kind: SecurityGroup, ID: model.ManagedGroupID}
	BackendGroupAddress = Address{Kind: BackendGroup, ID: model.BackendGroupTag}
)

// RuleAddress returns the address of a live listener rule, whose ID is the ARN of the rule. A new rule has no ARN yet: the
// ID in its address consists of port and priority.
func RuleAddress(arn string) Address { return Address{Kind: Rule, ID: arn} }
