// Package attach implements rules of the Gateway API. It determines which ListenerSets belong to a Gateway, which
// listeners are valid, which routes attach to which listeners and for which hostnames, and which references to other
// namespaces are permitted. It does not use AWS.
package attach
