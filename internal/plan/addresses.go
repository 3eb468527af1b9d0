package plan

import "github.com/fulcrum-lb/fulcrum/internal/model"

// Addresses of the WAF web ACLs and of the Shield Advanced protection of the load balancer of a stack.
var (
	WebACLAddress     = Address{Kind: WebACL, ID: model.LoadBalancerID}
	ClassicACLAddress = Address{Kind: ClassicACL, ID: model.LoadBalancerID}
	ProtectionAddress = Address{Kind: Protection, ID: model.LoadBalancerID}
)

// Addresses of the resources that a stack has at most once. BackendSecurityGroupAddress is the backend security group, which all
// load balancers of the cluster share.
var (
	LoadBalancerAddress         = Address{Kind: LoadBalancer, ID: model.LoadBalancerID}
	ManagedSecurityGroupAddress = Address{Kind: SecurityGroup, ID: model.ManagedSecurityGroupID}
	BackendSecurityGroupAddress = Address{Kind: BackendSecurityGroup, ID: model.BackendSecurityGroupID}
)

// RuleAddress returns the address of a listener rule that exists in AWS. Its ID is the ARN of the rule. A rule that does not
// exist yet has an address whose ID consists of port and priority.
func RuleAddress(arn string) Address { return Address{Kind: Rule, ID: arn} }
