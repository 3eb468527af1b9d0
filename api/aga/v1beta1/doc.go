// Package v1beta1 has the types of group aga.k8s.aws: GlobalAccelerator, a standard accelerator of AWS Global
// Accelerator with its listeners, endpoint groups and endpoints. Field names, their order and omitempty must stay
// as they are, because such objects exist in clusters; only additions are possible.
//
// +kubebuilder:object:generate=true
// +groupName=aga.k8s.aws
package v1beta1
