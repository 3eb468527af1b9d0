package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// CheckpointsName is the Secret that holds the checkpoints of stacks. They are hashes, but client
// secrets are part of their input, and guesses could be tried against them.
const CheckpointsName = "fulcrum-checkpoints"

// MembershipsName is the Secret that holds what Ingresses are and were part of. It is a Secret only so
// that the same rights suffice for both.
const MembershipsName = "fulcrum-memberships"

// checkpointsKey is their key in the Secret. Another format would have another key.
const checkpointsKey = "v1"

// Checkpoints stores one text in a Secret.
type Checkpoints struct {
	API       API
	Namespace string
	// Name of the Secret; empty: CheckpointsName.
	Name string
}

// Read returns the text, empty if there is no Secret. A Secret that has the text under the key of another format only is
// an error.
func (c Checkpoints) Read(ctx context.Context) (string, error) {
	m := c.named()
	err := c.API.Read(ctx, m)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Secret %s/%s: %w", c.Namespace, c.named().Name, err)
	}
	text, ok := m.Data[checkpointsKey]
	if !ok && len(m.Data) > 0 {
		return "", fmt.Errorf("read Secret %s/%s: it has no key %s, but %s: another version of the controller has written it", c.Namespace, m.Name, checkpointsKey, strings.Join(slices.Sorted(maps.Keys(m.Data)), ", "))
	}
	return string(text), nil
}

// Write replaces the text. Other keys of the Secret stay.
func (c Checkpoints) Write(ctx context.Context, text string) error {
	m := c.named()
	err := c.API.Read(ctx, m)
	data := maps.Clone(m.Data)
	if data == nil {
		data = map[string][]byte{}
	}
	data[checkpointsKey] = []byte(text)
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
		return fmt.Errorf("write Secret %s/%s: %w", c.Namespace, c.named().Name, err)
	}
	return nil
}

func (c Checkpoints) named() *corev1.Secret {
	m := &corev1.Secret{}
	m.Namespace, m.Name = c.Namespace, cmp.Or(c.Name, CheckpointsName)
	return m
}
