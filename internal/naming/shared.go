package naming

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// sharedStack begins the names of stacks that Services share. The name of a Service has no dot.
const sharedStack = "group."

// SharedStack returns the stack of a load balancer that Services share by its name. It belongs to a namespace, also
// where Services of others may join it.
func SharedStack(namespace, name string) model.StackID {
	return model.StackID{Kind: model.Service, Namespace: namespace, Name: sharedStack + name}
}

// SharedName returns the name of a load balancer that Services share; false if the stack is that of one Service.
func SharedName(id model.StackID) (string, bool) {
	if id.Kind != model.Service {
		return "", false
	}
	return strings.CutPrefix(id.Name, sharedStack)
}

// finalizerLimit is Kubernetes' limit of the part of a finalizer after the slash.
const finalizerLimit = 63

var sharedName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// SharedNameFault returns what is wrong with the name of a load balancer that Services share, "" if nothing.
func SharedNameFault(namespace, name string) string {
	switch {
	case !sharedName.MatchString(name):
		return "a name has lower-case letters, digits and hyphens only, and a hyphen neither first nor last"
	case len(namespace)+1+len(name) > finalizerLimit:
		return fmt.Sprintf("the name is too long: in namespace %[2]q it may have %[1]d characters", finalizerLimit-1-len(namespace), namespace)
	}
	return ""
}
