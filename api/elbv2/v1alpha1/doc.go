// Package v1alpha1 holds the old version of TargetGroupBinding. It is served for clients that
// still read it and never written: an update through it would lose the fields that only
// v1beta1 has.
//
// +kubebuilder:object:generate=true
// +groupName=elbv2.k8s.aws
package v1alpha1
