package plan

// Resource kinds for the integrations of a load balancer with other AWS services: its web ACL in WAFv2, its web ACL in WAF
// Classic, and its Shield Advanced protection.
const (
	WebACL     ResourceKind = "web-acl"
	ClassicACL ResourceKind = "classic-web-acl"
	Protection ResourceKind = "protection"
)

// Names of the Shield Advanced protections that this controller manages. New protections get ProtectionName; earlier
// controllers used LegacyProtectionName. Protections with other names are never deleted.
const (
	ProtectionName       = "managed by aws-load-balancer-controller"
	LegacyProtectionName = "managed by aws-alb-ingress-controller"
)

// SetWebACL associates a load balancer with a WAFv2 web ACL and replaces the current association. An empty ARN removes the
// association.
type SetWebACL struct {
	LoadBalancer Address
	ARN          string
}

// SetClassicACL associates a load balancer with a WAF Classic web ACL and replaces the current association. An empty ID
// removes the association.
type SetClassicACL struct {
	LoadBalancer Address
	ID           string
}

// CreateProtection creates a Shield Advanced protection for a load balancer.
type CreateProtection struct {
	LoadBalancer Address
	Name         string
}

// DeleteProtection deletes the Shield Advanced protection of a load balancer. ID is the id of the protection.
type DeleteProtection struct {
	LoadBalancer Address
	ID           string
}

func (SetWebACL) action()        {}
func (SetClassicACL) action()    {}
func (CreateProtection) action() {}
func (DeleteProtection) action() {}
