package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "elbv2.k8s.aws", Version: "v1beta1"}

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&TargetGroupBinding{}, &TargetGroupBindingList{},
		&IngressClassParams{}, &IngressClassParamsList{},
		&ALBTargetControlConfig{}, &ALBTargetControlConfigList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
