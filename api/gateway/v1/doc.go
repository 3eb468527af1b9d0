// Package v1 has the types of group gateway.k8s.aws: LoadBalancerConfiguration, TargetGroupConfiguration and
// ListenerRuleConfiguration. They have settings of AWS load balancers for which the Gateway API has no fields.
// Field names, their order and omitempty must stay unchanged, because such objects exist in clusters; only
// additions are possible.
//
// +kubebuilder:object:generate=true
// +groupName=gateway.k8s.aws
package v1
