// Package gatewayconfig finds the LoadBalancerConfigurations and TargetGroupConfigurations of a Gateway, and merges the
// configurations of its GatewayClass, of the Gateway itself and of Services.
package gatewayconfig
