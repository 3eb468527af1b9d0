package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// The record of the targets that a cluster is responsible for in a target group that it shares with
// others is a ConfigMap beside the binding. Its name and form are shared with other controllers.
const (
	ownedPrefix = "aws-lbc-targets-"
	ownedKey    = "targets"
)

func ownedMap(k bindings.Key) *corev1.ConfigMap {
	m := &corev1.ConfigMap{}
	m.Namespace, m.Name = k.Namespace, ownedPrefix+k.Name
	return m
}

// OwnedTargets implements bindings.Cluster.
func (c *Cluster) OwnedTargets(ctx context.Context, k bindings.Key) ([]string, bool, error) {
	m := ownedMap(k)
	if err := c.api.Read(ctx, m); err != nil {
		return nil, false, ignoreNotFound(err)
	}
	return bindings.SplitIdentities(m.Data[ownedKey]), true, nil
}

// setOwned replaces the record, unless another client wrote it meanwhile.
func (c *bindingWriter) setOwned(ctx context.Context, w bindings.SetOwnedTargets) error {
	m := ownedMap(w.Binding)
	err := c.api.Read(ctx, m)
	found := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[ownedKey] = bindings.JoinIdentities(w.Identities)
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

func (c *bindingWriter) dropOwned(ctx context.Context, w bindings.DropOwnedTargets) error {
	return ignoreNotFound(c.api.Delete(ctx, ownedMap(w.Binding)))
}
