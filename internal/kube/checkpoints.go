package kube

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// CheckpointsName is the ConfigMap that holds the checkpoints of stacks.
const CheckpointsName = "fulcrum-checkpoints"

// checkpointsKey is where they stand in it. Another form of them would have another key.
const checkpointsKey = "v1"

// Checkpoints stores one text in a ConfigMap.
type Checkpoints struct {
	API       API
	Namespace string
}

// Read returns the text; a ConfigMap that is not there is empty.
func (c Checkpoints) Read(ctx context.Context) (string, error) {
	m := c.named()
	err := c.API.Read(ctx, m)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read ConfigMap %s/%s: %w", c.Namespace, CheckpointsName, err)
	}
	return m.Data[checkpointsKey], nil
}

// Write replaces the text. What else stands in the ConfigMap stays.
func (c Checkpoints) Write(ctx context.Context, text string) error {
	m := c.named()
	err := c.API.Read(ctx, m)
	data := maps.Clone(m.Data)
	if data == nil {
		data = map[string]string{}
	}
	data[checkpointsKey] = text
	m.Data = data
	switch {
	case apierrors.IsNotFound(err):
		m = c.named()
		m.Data = data
		err = c.API.Create(ctx, m)
	case err == nil:
		err = c.API.Update(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", c.Namespace, CheckpointsName, err)
	}
	return nil
}

func (c Checkpoints) named() *corev1.ConfigMap {
	m := &corev1.ConfigMap{}
	m.Namespace, m.Name = c.Namespace, CheckpointsName
	return m
}
