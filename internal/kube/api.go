package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// API makes the calls to an API server that Cluster needs. It returns errors of package k8s.io/apimachinery/pkg/api/errors.
// Patch and Delete use only the kind, the namespace and the name of obj.
type API interface {
	// Read reads an object from the API server into obj, without a cache.
	Read(ctx context.Context, obj cluster.Object) error
	Create(ctx context.Context, obj cluster.Object) error
	Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error
	Update(ctx context.Context, obj cluster.Object) error
	Delete(ctx context.Context, obj cluster.Object) error
}

// ClientAPI calls a real API server with a client that has no cache.
type ClientAPI struct{ Client client.Client }

var _ API = ClientAPI{}

// Read implements API.
func (l ClientAPI) Read(ctx context.Context, obj cluster.Object) error {
	return l.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
}

// Create implements API.
func (l ClientAPI) Create(ctx context.Context, obj cluster.Object) error {
	return l.Client.Create(ctx, obj)
}

// Update implements API.
func (l ClientAPI) Update(ctx context.Context, obj cluster.Object) error {
	return l.Client.Update(ctx, obj)
}

// Delete implements API.
func (l ClientAPI) Delete(ctx context.Context, obj cluster.Object) error {
	return l.Client.Delete(ctx, obj)
}

// Patch implements API.
func (l ClientAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	// The client writes the answer into its argument. A copy leaves the object of the caller unchanged.
	into := obj.DeepCopyObject().(cluster.Object)
	p := client.RawPatch(kind, data)
	if part == cluster.StatusPart {
		return l.Client.Status().Patch(ctx, into, p)
	}
	return l.Client.Patch(ctx, into, p)
}

// MemoryAPI is an API server that stores its objects in memory.
type MemoryAPI struct{ Store *cluster.Memory }

var _ API = MemoryAPI{}

// Read implements API.
func (m MemoryAPI) Read(_ context.Context, obj cluster.Object) error { return m.Store.ReadInto(obj) }

// Create implements API.
func (m MemoryAPI) Create(_ context.Context, obj cluster.Object) error {
	_, err := m.Store.Create(obj)
	return err
}

// Update implements API.
func (m MemoryAPI) Update(_ context.Context, obj cluster.Object) error {
	_, err := m.Store.Update(obj, cluster.MainPart)
	return err
}

// Patch implements API.
func (m MemoryAPI) Patch(_ context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	_, err := m.Store.Patch(obj, part, kind, data)
	return err
}

// Delete implements API.
func (m MemoryAPI) Delete(_ context.Context, obj cluster.Object) error {
	return m.Store.DeleteObject(obj)
}
