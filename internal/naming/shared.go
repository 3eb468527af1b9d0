package naming

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// sharedStackPrefix is the prefix of the name of the stack of a load balancer that several Services share. A Service cannot
// have such a name, because names of Services have no dot.
const sharedStackPrefix = "group."

// SharedStack returns the stack of a load balancer that several Services share. namespace and name are those of the load
// balancer. The load balancer belongs to this namespace, even if Services of other namespaces share it.
func SharedStack(namespace, name string) model.StackID {
	return model.StackID{Kind: model.Service, Namespace: namespace, Name: sharedStackPrefix + name}
}

// SharedName returns the name of a load balancer that several Services share; false if the stack belongs to a single
// Service.
func SharedName(id model.StackID) (string, bool) {
	if id.Kind != model.Service {
		return "", false
	}
	return strings.CutPrefix(id.Name, sharedStackPrefix)
}

// finalizerLimit is the maximum length in Kubernetes of the part of a finalizer after its slash, in characters.
const finalizerLimit = 63

var sharedNamePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// SharedNameFault returns the reason why a name is not valid for a load balancer that several Services share; "" if it is
// valid.
func SharedNameFault(namespace, name string) string {
	switch {
	case !sharedNamePattern.MatchString(name):
		return "the name must have only lower-case letters, digits and hyphens, and must not begin or end with a hyphen"
	case len(namespace)+1+len(name) > finalizerLimit:
		return fmt.Sprintf("the name is too long: in namespace %[2]q it may have at most %[1]d characters", finalizerLimit-1-len(namespace), namespace)
	}
	return ""
}
