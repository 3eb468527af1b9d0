package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// registerNodes creates the Node objects, as kubelets do when they start, and retries until the API server accepts
// them. It does not change existing Nodes.
func (a *agent) registerNodes(ctx context.Context) error {
	for _, n := range a.layout.Nodes {
		err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := a.kube.CoreV1().Nodes().Create(ctx, a.nodeObject(n), metav1.CreateOptions{})
			if apierrors.IsInvalid(err) {
				return false, err
			}
			return err == nil || apierrors.IsAlreadyExists(err), nil
		})
		if err != nil {
			return fmt.Errorf("register node %s: %w", n.Name, err)
		}
	}
	return nil
}

func (a *agent) nodeObject(n layout.Node) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("250"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name,
			Labels: map[string]string{
				corev1.LabelHostname:           n.Name,
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				corev1.LabelInstanceTypeStable: "m5.large",
				corev1.LabelTopologyRegion:     a.layout.Region,
				corev1.LabelTopologyZone:       n.Zone,
			},
		},
		Spec: corev1.NodeSpec{
			ProviderID: n.ProviderID(),
			PodCIDR:    n.PodRange.String(),
			PodCIDRs:   []string{n.PodRange.String()},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: n.Address.String()},
				{Type: corev1.NodeHostName, Address: n.Name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:            "amd64",
				OperatingSystem:         "linux",
				OSImage:                 "fulcrum-local",
				KubeletVersion:          "v1.37.2",
				ContainerRuntimeVersion: "fulcrum-local://1",
			},
		},
	}
}
