// Package gatewayconfig reports what LoadBalancerConfigurations and TargetGroupConfigurations make of a Gateway: which
// ones count, and how those of the GatewayClass, of the Gateway and of a Service are laid over each other.
package gatewayconfig
