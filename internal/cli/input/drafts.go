package input

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Open checks the flags, connects to AWS and prepares DraftOf for the objects that were read. Chosen is known also where AWS cannot
// be reached.
func Open(ctx context.Context, d *Source, store *cluster.Memory) error {
	_, err := open(ctx, d, store)
	return err
}

// ChosenStacks returns the stacks that the command is about, in order, after Open.
func ChosenStacks(d *Source) []model.StackID { return d.chosen.stacks }

// DraftOf makes the plan of one stack, after Open has succeeded.
func DraftOf(ctx context.Context, d *Source, id model.StackID) (engine.Draft, error) {
	return d.draft(ctx, id)
}

// NotInstalled returns the kinds of a list that the cluster does not serve.
func NotInstalled(d *Source, of ...cluster.Kind) []cluster.Kind {
	return intersectKinds(d.unserved, of)
}
