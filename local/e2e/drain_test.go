package e2e

import (
	"errors"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/local/await"
)

// cordon marks a node as unschedulable or schedulable again.
func (s *stage) cordon(node string, on bool) error {
	patch := []byte(`{"spec":{"unschedulable":null}}`)
	if on {
		patch = []byte(`{"spec":{"unschedulable":true}}`)
	}
	_, err := s.World.Kube().CoreV1().Nodes().Patch(s.ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// drain cordons a node and evicts its pods, as `kubectl drain` does: an eviction that a
// disruption budget rejects is tried again.
func (s *stage) drain(node string) error {
	if err := s.cordon(node, true); err != nil {
		return err
	}
	pods, err := s.World.Kube().CoreV1().Pods("").List(s.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return err
	}
	deadline := time.Now().Add(defaultLimit)
	for _, p := range pods.Items {
		for {
			err := s.World.Kube().PolicyV1().Evictions(p.Namespace).Evict(s.ctx, &policyv1.Eviction{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
			})
			if err == nil || apierrors.IsNotFound(err) {
				break
			}
			if !apierrors.IsTooManyRequests(err) || time.Now().After(deadline) {
				return errors.Join(errors.New("evict "+p.Name), err)
			}
			select {
			case <-s.ctx.Done():
				return s.ctx.Err()
			case <-time.After(await.Interval):
			}
		}
	}
	return nil
}
