// Package gatewayclass returns patches for objects that are not members of stacks: GatewayClasses, configurations of
// Gateways, and ListenerSets. The patches set conditions, finalizers, and annotations that other controllers read if they
// take over these objects. The package does no I/O.
package gatewayclass
