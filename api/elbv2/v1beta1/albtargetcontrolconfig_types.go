package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ALBTargetControlConfigSpec configures the target control agent that is injected into pods.
type ALBTargetControlConfigSpec struct {
	// Image of the agent.
	Image string `json:"image"`

	// DataAddress is the address, host:port, on which the agent receives requests.
	// +kubebuilder:validation:Pattern="^.+:[0-9]+$"
	DataAddress string `json:"dataAddress"`

	// ControlAddress is the address, host:port, on which the load balancer controls the agent.
	// +kubebuilder:validation:Pattern="^.+:[0-9]+$"
	ControlAddress string `json:"controlAddress"`

	// DestinationAddress is the address, host:port, on which the application listens.
	// +kubebuilder:validation:Pattern="^.+:[0-9]+$"
	DestinationAddress string `json:"destinationAddress"`

	// MaxConcurrency is the maximum number of concurrent requests to the application.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=1
	// +optional
	MaxConcurrency *int32 `json:"maxConcurrency,omitempty"`

	// TLSCertPath is the path of the file with the certificate that the agent presents to the load balancer.
	// +optional
	TLSCertPath *string `json:"tlsCertPath,omitempty"`

	// TLSKeyPath is the path of the file with the private key of the certificate.
	// +optional
	TLSKeyPath *string `json:"tlsKeyPath,omitempty"`

	// TLSSecurityPolicy is the name of the ELB security policy that the agent applies to TLS connections.
	// +optional
	TLSSecurityPolicy *string `json:"tlsSecurityPolicy,omitempty"`

	// ProtocolVersion that the application speaks.
	// +kubebuilder:validation:Enum=HTTP1;HTTP2;GRPC
	// +optional
	ProtocolVersion *string `json:"protocolVersion,omitempty"`

	// RustLog is the agent's log level.
	// +kubebuilder:validation:Enum=debug;info;error
	// +optional
	RustLog *string `json:"rustLog,omitempty"`

	// Resources of the agent's container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// ALBTargetControlConfig configures the target control agent that is injected into pods.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=albtargetcontrolconfigs
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="IMAGE",type="string",JSONPath=".spec.image",description="The agent's image"
// +kubebuilder:printcolumn:name="DESTINATION",type="string",JSONPath=".spec.destinationAddress",description="The application's address"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ALBTargetControlConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ALBTargetControlConfigSpec `json:"spec,omitempty"`
}

// ALBTargetControlConfigList is a list of ALBTargetControlConfigs.
//
// +kubebuilder:object:root=true
type ALBTargetControlConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ALBTargetControlConfig `json:"items"`
}
