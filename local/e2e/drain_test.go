package e2e

import (
	"errors"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/local/await"
)

// setUnschedulable makes a node unschedulable, or schedulable again if on is false.
func (s *scriptCluster) setUnschedulable(node string, on bool) error {
	patch := []byte(`{"spec":{"unschedulable":null}}`)
	if on {
		patch = []byte(`{"spec":{"unschedulable":true}}`)
	}
	_, err := s.World.KubeClient().CoreV1().Nodes().Patch(s.ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// drain cordons a node and evicts its pods until no pod is left, as `kubectl drain` does. It retries an eviction that a
// PodDisruptionBudget rejects. The scheduler may place new pods on the node before it observes that the node is cordoned;
// drain evicts them too.
func (s *scriptCluster) drain(node string) error {
	if err := s.setUnschedulable(node, true); err != nil {
		return err
	}
	deadline := time.Now().Add(defaultWaitLimit)
	for {
		pods, err := s.World.KubeClient().CoreV1().Pods("").List(s.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil || len(pods.Items) == 0 {
			return err
		}
		rejected := errors.New("pods still run on the node")
		for _, p := range pods.Items {
			err := s.World.KubeClient().PolicyV1().Evictions(p.Namespace).Evict(s.ctx, &policyv1.Eviction{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
			})
			if apierrors.IsTooManyRequests(err) {
				rejected = err
			} else if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("evict %s: %w", p.Name, err)
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("drain %s: %w", node, rejected)
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(await.Interval):
		}
	}
}
