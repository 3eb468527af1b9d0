package naming

import "strconv"

// Keys of tags that say how far the replacement of a load balancer has come. No load balancer has one
// before or after.
const (
	// SuccessorTag is on a load balancer that is made beside the one whose place it takes, until the status
	// shows it. Its value is the name of the other.
	SuccessorTag = "elbv2.k8s.aws/successor-of"
	// ReplacedTag is on a load balancer whose name the status shows no longer. Its value is since when, by
	// RFC 3339.
	ReplacedTag = "elbv2.k8s.aws/replaced-at"
)

// Alternatives is how many names a generated name stands for: a resource that takes the place of another
// gets the first one that is free.
const Alternatives = 9

// nameLimit is AWS's limit of the names of load balancers and target groups, in characters.
const nameLimit = 32

// Alternative returns the n-th name, from 1 to Alternatives, for a resource of a generated name. The first is the
// name itself.
func Alternative(name string, n int) string {
	if n <= 1 {
		return name
	}
	suffix := "-" + strconv.Itoa(n)
	return name[:min(len(name), nameLimit-len(suffix))] + suffix
}

// IsAlternative reports whether a name is the given one or stands for it.
func IsAlternative(name, of string) bool {
	for n := 1; n <= Alternatives; n++ {
		if Alternative(of, n) == name {
			return true
		}
	}
	return false
}
