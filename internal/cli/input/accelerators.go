package input

import (
	"context"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// EachDraftOutsideScope makes the plans of stacks that have objects in store but are outside the scope of the command, and
// passes each plan to show. It makes only the plans of stacks for which include returns true. Call it after Open or
// EachDraft; before that it does nothing. With --observed it does nothing either, because a recording contains only the
// stacks in the scope of a command.
func EachDraftOutsideScope(ctx context.Context, d *Source, store *cluster.Memory, include func(model.StackID) bool, show func(engine.Draft) error) error {
	if d.ObservedFile != "" || d.draft == nil {
		return nil
	}
	for _, id := range stacksOf(store, controller.Frontends(d.Config)) {
		if slices.Contains(d.selected.stacks, id) || !include(id) {
			continue
		}
		draft, err := d.draft(ctx, id)
		if err != nil {
			return err
		}
		if err := show(draft); err != nil {
			return err
		}
	}
	return nil
}

// acceleratorsOffReason returns why the controller does not serve GlobalAccelerators, or "" if it serves them.
func acceleratorsOffReason(c config.Config) string {
	if c.Gates.IsEnabled(config.GlobalAcceleratorController) {
		return ""
	}
	return fmt.Sprintf("feature gate %[1]s is off, so GlobalAccelerators are ignored; set --feature-gates=%[1]s=true on the controller", config.GlobalAcceleratorController)
}
