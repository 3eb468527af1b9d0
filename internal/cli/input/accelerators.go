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

// EachBeside makes the plans of stacks that the command is not about, and that are of objects that were read, after Each.
// A recording has what Each has asked alone.
func EachBeside(ctx context.Context, d *Source, store *cluster.Memory, which func(model.StackID) bool, show func(engine.Draft) error) error {
	if d.Observed != "" || d.draft == nil {
		return nil
	}
	for _, id := range stacksOf(store, controller.Frontends(d.Config)) {
		if slices.Contains(d.chosen.stacks, id) || !which(id) {
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

// acceleratorsOff returns why GlobalAccelerators are not served, "" if they are.
func acceleratorsOff(c config.Config) string {
	if c.Gates.On(config.GlobalAcceleratorController) {
		return ""
	}
	return fmt.Sprintf("feature gate %[1]s is off, so that GlobalAccelerators are not looked at; set --feature-gates=%[1]s=true on the controller", config.GlobalAcceleratorController)
}
