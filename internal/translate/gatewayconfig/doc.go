// Package gatewayconfig finds the LoadBalancerConfigurations and TargetGroupConfigurations for a Gateway, and merges those
// of its GatewayClass, of the Gateway itself and of Services.
package gatewayconfig
