// Package gatewayclass reports what is written to GatewayClasses and to the configurations of Gateways, which are no
// stacks: conditions, finalizers, and what other controllers read after a take-over. It is pure.
package gatewayclass
