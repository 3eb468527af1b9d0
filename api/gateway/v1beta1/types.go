package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
)

// LoadBalancerConfiguration is the deprecated version v1beta1 of the kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="gateway.k8s.aws/v1beta1 LoadBalancerConfiguration is deprecated, use gateway.k8s.aws/v1"
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type LoadBalancerConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec v1.LoadBalancerConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status v1.ConfigurationStatus `json:"status,omitempty"`
}

// LoadBalancerConfigurationList is a list of LoadBalancerConfigurations.
//
// +kubebuilder:object:root=true
type LoadBalancerConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadBalancerConfiguration `json:"items"`
}

// TargetGroupConfiguration is the deprecated version v1beta1 of the kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="gateway.k8s.aws/v1beta1 TargetGroupConfiguration is deprecated, use gateway.k8s.aws/v1"
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="SERVICE-NAME",type="string",JSONPath=".spec.targetReference.name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type TargetGroupConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec v1.TargetGroupConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status v1.ConfigurationStatus `json:"status,omitempty"`
}

// TargetGroupConfigurationList is a list of TargetGroupConfigurations.
//
// +kubebuilder:object:root=true
type TargetGroupConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TargetGroupConfiguration `json:"items"`
}

// ListenerRuleConfiguration is the deprecated version v1beta1 of the kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="gateway.k8s.aws/v1beta1 ListenerRuleConfiguration is deprecated, use gateway.k8s.aws/v1"
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ListenerRuleConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec v1.ListenerRuleConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status v1.ListenerRuleConfigurationStatus `json:"status,omitempty"`
}

// ListenerRuleConfigurationList is a list of ListenerRuleConfigurations.
//
// +kubebuilder:object:root=true
type ListenerRuleConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ListenerRuleConfiguration `json:"items"`
}
