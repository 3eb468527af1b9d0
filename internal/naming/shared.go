package naming

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// sharedStackPrefix is the prefix of the names of stacks that Services share. Names of Services have no dot.
const sharedStackPrefix = "group."

// SharedStack returns the stack of a load balancer that Services share, by its name. It belongs to a namespace, even if
// Services of other namespaces may join it.
func SharedStack(namespace, name string) model.StackID {
	return model.StackID{Kind: model.Service, Namespace: namespace, Name: sharedStackPrefix + name}
}

// SharedName returns the name of a load balancer that Services share; false if the stack is that of one Service.
func SharedName(id model.StackID) (string, bool) {
	if id.Kind != model.Service {
		return "", false
	}
	return strings.CutPrefix(id.Name, sharedStackPrefix)
}

// finalizerLimit is the maximum length of the part of a finalizer after the slash.
const finalizerLimit = 63

var sharedNamePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// SharedNameFault returns a message about a name of a load balancer that Services share, if it is not valid; "" otherwise.
func SharedNameFault(namespace, name string) string {
	switch {
	case !sharedNamePattern.MatchString(name):
		return "a name has only lower-case letters, digits and hyphens, and does not begin or end with a hyphen"
	case len(namespace)+1+len(name) > finalizerLimit:
		return fmt.Sprintf("the name is too long: in namespace %[2]q it may have %[1]d characters", finalizerLimit-1-len(namespace), namespace)
	}
	return ""
}
