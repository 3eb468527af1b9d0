package naming

import "strconv"

// Keys of tags that record the progress of the replacement of a load balancer. Load balancers have these tags only during a
// replacement.
const (
	// SuccessorTag is a tag of the new load balancer until the status of the members has its address. Its value is the name
	// of the previous load balancer.
	SuccessorTag = "elbv2.k8s.aws/successor-of"
	// ReplacedTag is a tag of the previous load balancer after the status of the members has the address of the new one. Its
	// value is the time at which the status changed, in the format of RFC 3339.
	ReplacedTag = "elbv2.k8s.aws/replaced-at"
)

// AlternativeCount is the number of alternatives of a generated name, including the name itself. A resource that replaces
// another one gets the first alternative that no other resource has.
const AlternativeCount = 9

// nameLimit is the maximum length of names of load balancers and target groups in AWS, in characters.
const nameLimit = 32

// AlternativeName returns the n-th alternative of a generated name, with n from 1 to AlternativeCount. The first alternative
// is the name itself.
func AlternativeName(name string, n int) string {
	if n <= 1 {
		return name
	}
	suffix := "-" + strconv.Itoa(n)
	return name[:min(len(name), nameLimit-len(suffix))] + suffix
}

// IsAlternativeName reports whether name is one of the alternatives of a generated name. of is the generated name, which is
// the first alternative.
func IsAlternativeName(name, of string) bool {
	for n := 1; n <= AlternativeCount; n++ {
		if AlternativeName(of, n) == name {
			return true
		}
	}
	return false
}
