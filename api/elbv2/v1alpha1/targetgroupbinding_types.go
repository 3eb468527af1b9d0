package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// TargetGroupBindingSpec is the desired state.
type TargetGroupBindingSpec struct {
	// TargetGroupARN is the ARN of the target group. It has precedence over the name.
	// +optional
	TargetGroupARN string `json:"targetGroupARN,omitempty"`

	// TargetGroupName is the name of the target group.
	// +optional
	TargetGroupName string `json:"targetGroupName,omitempty"`

	// MultiClusterTargetGroup is set if several clusters register targets in the target
	// group.
	// +optional
	MultiClusterTargetGroup bool `json:"multiClusterTargetGroup,omitempty"`

	// TargetType of the target group; taken from AWS if not given.
	// +optional
	TargetType *v1beta1.TargetType `json:"targetType,omitempty"`

	// ServiceRef names the Service and port whose endpoints are registered.
	ServiceRef v1beta1.ServiceReference `json:"serviceRef"`

	// Networking configures rules in the security groups of the targets.
	// +optional
	Networking *v1beta1.TargetGroupBindingNetworking `json:"networking,omitempty"`

	// IamRoleArnToAssume is the role for calls on a target group of another account.
	// +optional
	IamRoleArnToAssume string `json:"iamRoleArnToAssume,omitempty"`

	// AssumeRoleExternalId is the external ID that is sent when the role is assumed.
	// +optional
	AssumeRoleExternalId string `json:"assumeRoleExternalId,omitempty"` //nolint:revive // wire name
}

// TargetGroupBindingStatus is the observed state.
type TargetGroupBindingStatus struct {
	// ObservedGeneration is the newest generation whose targets were registered.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// TargetGroupBinding keeps the targets of one target group equal to the endpoints of one Service
// port.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="SERVICE-NAME",type="string",JSONPath=".spec.serviceRef.name",description="The Kubernetes Service's name"
// +kubebuilder:printcolumn:name="SERVICE-PORT",type="string",JSONPath=".spec.serviceRef.port",description="The Kubernetes Service's port"
// +kubebuilder:printcolumn:name="TARGET-TYPE",type="string",JSONPath=".spec.targetType",description="The target group's target type"
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".spec.targetGroupARN",description="The target group's ARN",priority=1
// +kubebuilder:printcolumn:name="NAME",type="string",JSONPath=".spec.targetGroupName",description="The target group's name",priority=2
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type TargetGroupBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TargetGroupBindingSpec   `json:"spec,omitempty"`
	Status TargetGroupBindingStatus `json:"status,omitempty"`
}

// TargetGroupBindingList is a list of TargetGroupBindings.
//
// +kubebuilder:object:root=true
type TargetGroupBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TargetGroupBinding `json:"items"`
}
