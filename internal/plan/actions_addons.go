package plan

// The kinds of what a load balancer is tied to in other services.
const (
	WebACL     ResourceKind = "web-acl"
	ClassicACL ResourceKind = "classic-web-acl"
	Protection ResourceKind = "protection"
)

// Names of protections that a controller made. The first is given to new ones; no other protection
// is ever taken away.
const (
	ProtectionName       = "managed by aws-load-balancer-controller"
	LegacyProtectionName = "managed by aws-alb-ingress-controller"
)

// SetWebACL ties a load balancer to a web ACL of WAFv2 in place of the one it may have; an empty
// ARN unties it.
type SetWebACL struct {
	LoadBalancer Address
	ARN          string
}

// SetClassicACL does so with a web ACL of WAF Classic, by id.
type SetClassicACL struct {
	LoadBalancer Address
	ID           string
}

// Protect has Shield Advanced protect a load balancer.
type Protect struct {
	LoadBalancer Address
	Name         string
}

// Unprotect takes a protection away.
type Unprotect struct {
	LoadBalancer Address
	ID           string
}

func (SetWebACL) action() {}

func (SetClassicACL) action() {}

func (Protect) action() {}

func (Unprotect) action() {}
