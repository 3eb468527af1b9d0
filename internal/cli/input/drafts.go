package input

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// SelectedStacks returns the stacks that the command is about, in order. It returns nil before Open.
func SelectedStacks(d *Source) []model.StackID { return d.selected.stacks }

// DraftOf makes the plan of one stack. It may be called only after Open has succeeded.
func DraftOf(ctx context.Context, d *Source, id model.StackID) (engine.Draft, error) {
	return d.draft(ctx, id)
}

// NotInstalledKinds returns those of the given kinds that the API server does not serve.
func NotInstalledKinds(d *Source, of ...cluster.Kind) []cluster.Kind {
	return intersectKinds(d.notInstalledKinds, of)
}
