// Package gatewayclass returns patches for GatewayClasses, configurations of Gateways and ListenerSets, which are not part of
// stacks: conditions, finalizers, and annotations that other controllers read after a take-over. It does no I/O.
package gatewayclass
