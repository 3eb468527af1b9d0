package assemble

// Limits for the resources of one object, or of the objects of one namespace, on a load balancer. AWS allows 50 listeners, 100
// rules and 25 certificates by default; the quotas of an existing cluster may be raised. The number of rules of a listener or of
// a security group is a product of lists in objects, so without limits a small object could exhaust the memory.
const (
	// DefaultMaxListeners is the maximum number of ports of an Ingress or a Service, unless the operator sets another one.
	DefaultMaxListeners = 100
	defaultMaxRules     = 4000
	// MaxSecurityGroupRules is the maximum number of rules of a security group in AWS, which no quota can raise.
	MaxSecurityGroupRules = 1000
	// MaxCertificates is the maximum number of certificates, counted on each port. Each certificate requires an AWS call.
	MaxCertificates = 4000
)
