package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// A ConfigMap in the namespace of a TargetGroupBinding records which targets this cluster has registered in a target group
// that it shares with other clusters. The AWS Load Balancer Controller uses the same name and format.
const (
	ownedTargetsPrefix = "aws-lbc-targets-"
	ownedTargetsKey    = "targets"
)

// ownedTargetsConfigMap returns the ConfigMap of a TargetGroupBinding, without data.
func ownedTargetsConfigMap(k bindings.Key) *corev1.ConfigMap {
	m := &corev1.ConfigMap{}
	m.Namespace, m.Name = k.Namespace, ownedTargetsPrefix+k.Name
	return m
}

// OwnedTargets implements bindings.Cluster.
func (c *Cluster) OwnedTargets(ctx context.Context, k bindings.Key) ([]string, bool, error) {
	m := ownedTargetsConfigMap(k)
	if err := c.api.Read(ctx, m); err != nil {
		return nil, false, ignoreNotFound(err)
	}
	return bindings.SplitIdentities(m.Data[ownedTargetsKey]), true, nil
}

// setOwnedTargets stores the targets of w in the ConfigMap, in place of the previous targets. It returns a conflict if
// another client changes the ConfigMap at the same time.
func (c *bindingWriter) setOwnedTargets(ctx context.Context, w bindings.SetOwnedTargets) error {
	m := ownedTargetsConfigMap(w.Binding)
	err := c.api.Read(ctx, m)
	found := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[ownedTargetsKey] = bindings.JoinIdentities(w.Identities)
	if found {
		err = c.api.Update(ctx, m)
	} else {
		err = c.api.Create(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}

func (c *bindingWriter) deleteOwnedTargets(ctx context.Context, w bindings.DropOwnedTargets) error {
	return ignoreNotFound(c.api.Delete(ctx, ownedTargetsConfigMap(w.Binding)))
}
