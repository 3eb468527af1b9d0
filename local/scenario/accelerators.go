package scenario

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var globalAcceleratorsResource = schema.GroupVersionResource{Group: "aga.k8s.aws", Version: "v1beta1", Resource: "globalaccelerators"}

// Accelerator returns a GlobalAccelerator from the API server.
func (s *Scenario) Accelerator(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	return s.dynamic.Resource(globalAcceleratorsResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// AcceleratorHostname returns the DNS name in the status of a GlobalAccelerator, or an error if there is none.
func (s *Scenario) AcceleratorHostname(ctx context.Context, namespace, name string) (string, error) {
	return s.acceleratorStatus(ctx, namespace, name, "dnsName")
}

// AcceleratorARN returns the ARN in the status of a GlobalAccelerator, or an error if there is none.
func (s *Scenario) AcceleratorARN(ctx context.Context, namespace, name string) (string, error) {
	return s.acceleratorStatus(ctx, namespace, name, "acceleratorARN")
}

// AcceleratorState returns the lines of Inspector.AcceleratorLines for the accelerator in a GlobalAccelerator's status.
func (s *Scenario) AcceleratorState(ctx context.Context, namespace, name string) ([]string, error) {
	arn, err := s.AcceleratorARN(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return s.Inspector.AcceleratorLines(ctx, arn)
}

func (s *Scenario) acceleratorStatus(ctx context.Context, namespace, name, field string) (string, error) {
	got, err := s.Accelerator(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	if v, _, _ := unstructured.NestedString(got.Object, "status", field); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("GlobalAccelerator %s/%s has no %s in its status", namespace, name, field)
}
