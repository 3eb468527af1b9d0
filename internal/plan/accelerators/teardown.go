package accelerators

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// tearDown plans to disable the accelerator, to delete its listeners and endpoint groups, to delete the accelerator when AWS
// has deployed these changes, and to remove the finalizer. If guests have endpoint groups, the accelerator is retained with
// the listeners that they use.
func (m *acceleratorPlanner) tearDown() {
	var before []plan.StepID
	if len(m.endpointGroupsOfOthers) > 0 {
		ownerPlanner{m}.deleteAllExceptGuestParts()
		return
	}
	if a := m.live; a != nil {
		before = ownerPlanner{m}.removeGuestTags()
		if a.Enabled {
			before = append(before, m.changeAccelerator("disable", plan.ChangeAccelerator{Accelerator: plan.AcceleratorAddress, Enabled: new(false)},
				plan.Change{Path: "enabled", From: "true", To: "false"}, plan.DeleteImpact, before))
		}
		first := slices.Clone(before)
		for _, l := range a.Listeners {
			before = append(before, listenerPlanner{m}.deleteListener(l, first, "the accelerator is deleted"))
		}
		wait := plan.Wait{}
		if len(before) > 0 || a.State != observed.AcceleratorDeployed {
			wait = plan.Wait{For: "AWS to deploy the changes", RetryAfter: durations.MissingWait}
			m.Ask(model.AskAcceleratorState{ARN: a.ARN})
		}
		changes := []plan.Change{{Path: "name", From: a.Name}}
		for _, s := range a.Addresses {
			for _, address := range s.Addresses {
				changes = append(changes, plan.Change{Path: "address", From: address})
			}
		}
		of := plan.Address{Kind: plan.Accelerator, ID: a.ARN}
		before = append(before, m.add(plan.Step{
			ID: plan.NewStepID("delete", of), Address: of, Verb: plan.Delete, Do: plan.DeleteAccelerator{ARN: a.ARN}, After: before,
			Changes: changes, Why: "the object is deleted; the addresses of the accelerator cannot be restored", Impact: plan.DeleteImpact, Wait: wait,
		}))
	}
	m.releaseFinalizers(before)
}

// releaseFinalizers plans to remove the finalizers of the objects that leave the stack, after the steps in before.
func (m *acceleratorPlanner) releaseFinalizers(before []plan.StepID) {
	for _, leaving := range m.Want.Leaving {
		a := plan.Address{Kind: plan.Finalizer, ID: leaving.Ref.String()}
		m.Add(plan.Step{
			ID: plan.NewStepID("release", a), Address: a, Verb: plan.Delete, Do: plan.ReleaseFinalizer{Ref: leaving.Ref, Finalizer: leaving.Finalizer}, After: before,
			RequestedBy: []finding.Ref{leaving.Ref}, Why: "no resource is left that the controller may delete",
		})
	}
}
