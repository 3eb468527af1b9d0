// Package v1 holds the types of group gateway.k8s.aws: LoadBalancerConfiguration, TargetGroupConfiguration and
// ListenerRuleConfiguration. They say what Gateways and routes of the Gateway API cannot say about load balancers
// of AWS. Field names, their order and what is left out when empty are a contract with objects that exist in
// clusters; only additions are possible.
//
// +kubebuilder:object:generate=true
// +groupName=gateway.k8s.aws
package v1
