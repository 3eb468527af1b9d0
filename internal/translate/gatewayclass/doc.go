// Package gatewayclass returns patches for objects that are not part of stacks: GatewayClasses, configurations of
// Gateways, and ListenerSets. The patches set conditions, finalizers, and annotations that other controllers read after
// a take-over. The package does no I/O.
package gatewayclass
