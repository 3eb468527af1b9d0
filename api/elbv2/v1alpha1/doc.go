// Package v1alpha1 has the old version of TargetGroupBinding. It is only served for clients that
// still read it: an update of this version would lose the fields that only v1beta1
// has.
//
// +kubebuilder:object:generate=true
// +groupName=elbv2.k8s.aws
package v1alpha1
