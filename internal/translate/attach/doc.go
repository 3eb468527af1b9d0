// Package attach decides what the Gateway API decides alike for every load balancer: which
// ListenerSets belong to a Gateway, which listeners are valid, which routes attach where with which
// hostnames, and which references to other namespaces are permitted. It knows nothing of AWS.
package attach
