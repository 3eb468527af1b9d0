package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// CheckpointsName is the name of the Secret with the checkpoints of stacks. The checkpoints are in a Secret because their
// hashes depend on client secrets. A reader of a hash could verify a guess of a client secret.
const CheckpointsName = "fulcrum-checkpoints"

// MembershipsName is the name of the Secret with the memberships of root objects in stacks. A Secret is used so that no
// additional RBAC permissions are required.
const MembershipsName = "fulcrum-memberships"

// storedTextKey is the key of the stored text in the data of the Secret. Each text format has a different key.
const storedTextKey = "v1"

// SecretStore stores one text in a Secret, for example checkpoints or memberships.
type SecretStore struct {
	API       API
	Namespace string
	Name      string // the name of the Secret: CheckpointsName or MembershipsName
}

// ErrOtherFormat is the error of SecretStore.Read if the Secret has only keys of other formats.
var ErrOtherFormat = errors.New("another version of the controller wrote the Secret")

// Read returns the text; "" if the Secret does not exist. It returns ErrOtherFormat if the Secret has only keys of other
// formats.
func (c SecretStore) Read(ctx context.Context) (string, error) {
	secret := c.newSecret()
	err := c.API.Read(ctx, secret)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Secret %s/%s: %w", c.Namespace, c.Name, err)
	}
	text, ok := secret.Data[storedTextKey]
	if !ok && len(secret.Data) > 0 {
		return "", fmt.Errorf("read Secret %s/%s: it has no key %s, but %s: %w", c.Namespace, c.Name, storedTextKey, strings.Join(slices.Sorted(maps.Keys(secret.Data)), ", "), ErrOtherFormat)
	}
	return string(text), nil
}

// Write replaces the text, and retains the other keys of the Secret. It creates the Secret if it does not exist.
func (c SecretStore) Write(ctx context.Context, text string) error {
	secret, write := c.newSecret(), c.API.Update
	err := c.API.Read(ctx, secret)
	if apierrors.IsNotFound(err) {
		secret, write, err = c.newSecret(), c.API.Create, nil
	}
	if err == nil {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[storedTextKey] = []byte(text)
		err = write(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}

// newSecret returns a Secret object with the namespace and name of the store, and without data.
func (c SecretStore) newSecret() *corev1.Secret {
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = c.Namespace, c.Name
	return secret
}
