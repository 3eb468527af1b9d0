// Package v1beta1 has the deprecated version of group gateway.k8s.aws. Its fields are those of v1.
//
// +kubebuilder:object:generate=true
// +groupName=gateway.k8s.aws
package v1beta1
