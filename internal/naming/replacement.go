package naming

import "strconv"

// Keys of the tags that record the progress of the replacement of a load balancer. Load balancers have them only during a
// replacement.
const (
	// SuccessorTag is on the new load balancer until the status shows it. Its value is the name of the previous load
	// balancer.
	SuccessorTag = "elbv2.k8s.aws/successor-of"
	// ReplacedTag is on the previous load balancer after the status shows the new one. Its value is the time at which the
	// status changed, in the format of RFC 3339.
	ReplacedTag = "elbv2.k8s.aws/replaced-at"
)

// AlternativeCount is the number of alternatives of a generated name, including the name itself. A resource that replaces
// another one gets the first alternative that is not in use.
const AlternativeCount = 9

// nameLimit is the maximum length of names of load balancers and target groups in AWS, in characters.
const nameLimit = 32

// Alternative returns the n-th alternative of a generated name, with n from 1 to AlternativeCount. The first alternative is
// the name itself.
func Alternative(name string, n int) string {
	if n <= 1 {
		return name
	}
	suffix := "-" + strconv.Itoa(n)
	return name[:min(len(name), nameLimit-len(suffix))] + suffix
}

// IsAlternative reports whether name is one of the alternatives of the generated name of.
func IsAlternative(name, of string) bool {
	for n := 1; n <= AlternativeCount; n++ {
		if Alternative(of, n) == name {
			return true
		}
	}
	return false
}
