// Package attach implements the rules of the Gateway API that are the same for every load balancer: which ListenerSets
// belong to a Gateway, which listeners are valid, which routes attach to which listeners and for which hostnames, and which
// references to other namespaces are permitted. It does not depend on AWS.
package attach
