// Package v1beta1 holds the types of group elbv2.k8s.aws: TargetGroupBinding, IngressClassParams
// and ALBTargetControlConfig. Field names, their order and what is left out when empty are a
// contract with objects that exist in clusters; only additions are possible.
//
// +kubebuilder:object:generate=true
// +groupName=elbv2.k8s.aws
package v1beta1
