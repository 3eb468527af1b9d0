package harness

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// killableServer is an API server whose calls fail once process p is killed.
type killableServer struct {
	p   *process
	api kube.API
}

func (m killableServer) Read(ctx context.Context, obj cluster.Object) error {
	if err := m.p.ctx.Err(); err != nil {
		return err
	}
	return m.api.Read(ctx, obj)
}

func (m killableServer) Create(ctx context.Context, obj cluster.Object) error {
	if err := m.p.ctx.Err(); err != nil {
		return err
	}
	return m.api.Create(ctx, obj)
}

func (m killableServer) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if err := m.p.ctx.Err(); err != nil {
		return err
	}
	return m.api.Patch(ctx, obj, part, kind, data)
}

func (m killableServer) Update(ctx context.Context, obj cluster.Object) error {
	if err := m.p.ctx.Err(); err != nil {
		return err
	}
	return m.api.Update(ctx, obj)
}

func (m killableServer) Delete(ctx context.Context, obj cluster.Object) error {
	if err := m.p.ctx.Err(); err != nil {
		return err
	}
	return m.api.Delete(ctx, obj)
}
