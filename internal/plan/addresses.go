package plan

import "github.com/fulcrum-lb/fulcrum/internal/model"

var (
	WebACLAddress     = Address{Kind: WebACL, ID: model.LoadBalancerID}
	ClassicACLAddress = Address{Kind: ClassicACL, ID: model.LoadBalancerID}
	ProtectionAddress = Address{Kind: Protection, ID: model.LoadBalancerID}
)

var (
	LoadBalancerAddress = Address{Kind: LoadBalancer, ID: model.LoadBalancerID}
	ManagedGroupAddress = Address{Kind: SecurityGroup, ID: model.ManagedGroupID}
	BackendGroupAddress = Address{Kind: BackendGroup, ID: model.BackendGroupTag}
)

// RuleAddress names a live rule; rules that are yet to be made are named by port and priority.
func RuleAddress(arn string) Address { return Address{Kind: Rule, ID: arn} }
