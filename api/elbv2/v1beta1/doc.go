// Package v1beta1 has the types of group elbv2.k8s.aws: TargetGroupBinding, IngressClassParams
// and ALBTargetControlConfig. Field names, their order and omitempty must stay unchanged,
// because such objects exist in clusters; only additions are possible.
//
// +kubebuilder:object:generate=true
// +groupName=elbv2.k8s.aws
package v1beta1
