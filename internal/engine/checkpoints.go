package engine

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// desiredDigest returns a hash of the result of a translation: the desired state and the findings. The hash does not depend
// on the finalizers and the status that runs write to the objects.
func desiredDigest(stack model.Stack, found finding.List) string {
	stack.Members = slices.Clone(stack.Members)
	for i := range stack.Members {
		stack.Members[i].Claimed, stack.Members[i].Recorded = false, ""
	}
	if a := stack.Accelerator; a != nil {
		own := *a
		own.Rights = "" // a change of a ReferenceGrant is no edit of the stack
		stack.Accelerator = &own
	}
	return checkpoint.Digest(stack, found.Sorted())
}

// inputDigest returns a hash of all inputs of a run except the state of AWS: the desired state, the options, the
// rights to endpoints, and the bindings, finalizers and status in Kubernetes. It returns "" if checkpoints are not used.
func (e *Engine) inputDigest(v *cluster.View, stack model.Stack, desired string) string {
	if e.Checkpoints == nil {
		return ""
	}
	inputs := []any{desired, stack.Members, e.Options, e.Cluster.Bindings(v, stack.ID)}
	if stack.Accelerator != nil && stack.Accelerator.Rights != "" {
		inputs = append(inputs, stack.Accelerator.Rights)
	}
	return checkpoint.Digest(inputs...)
}

// firstComparisonDelay returns the time from the start of the process to the first comparison of a stack whose desired state
// matches its checkpoint. It returns zero for every other stack, and for a stack that is to be deleted.
func (e *Engine) firstComparisonDelay(stack model.Stack, digest string) time.Duration {
	if e.Checkpoints == nil || stack.IsEmpty() || !e.Checkpoints.IsUnchanged(stack.ID, digest) {
		return 0
	}
	return resync.FirstDelay(e.Resync, stack.ID.String())
}

// recordConverged stores a checkpoint of a desired state that was carried out completely. Otherwise it removes the checkpoint
// of the stack. reported reports whether the status was written. found has the findings of the translation: their errors do
// not prevent a checkpoint, because they last until the objects change. Other errors prevent it, because AWS may accept the
// refused change later. Held parts prevent it, because a member may lose its right to them without a change of the
// translation. A stack without a load balancer or accelerator in AWS has no checkpoint, because it would use space in the
// store.
func (e *Engine) recordConverged(out Outcome, reported bool, found finding.List, digest string) {
	if e.Checkpoints == nil {
		return
	}
	nothingLive := len(out.LiveLoadBalancers) == 0 && (out.Stack.Accelerator == nil || len(out.Plan.KnownIDs) == 0)
	if !reported || out.Err != nil || !out.Done || out.sharesLoadBalancer || out.Plan.HasRetainedParts || out.Stack.IsEmpty() || nothingLive || out.Findings.CountErrors() > found.Sorted().CountErrors() {
		digest = ""
	}
	e.Checkpoints.SetDigest(out.ID, digest)
}

// forgetCheckpoints removes the checkpoints of the stacks that a run is about to change: its own stack, and a stack whose
// load balancer it takes over. With the old checkpoint, the next process could regard the stack as unchanged if this process
// ends during the change and the edit of the object is then reverted. The checkpoint is also removed before drift is
// restored, because the process may end when only a part is restored.
func (r *execution) forgetCheckpoints() {
	if r.e.Checkpoints == nil {
		return
	}
	if r.forgottenStacks == nil {
		r.forgottenStacks = map[model.StackID]bool{}
	}
	for _, id := range *r.reservedStacks {
		if !r.forgottenStacks[id] {
			r.forgottenStacks[id] = true
			r.checkpointWrites.Add(r.e.Checkpoints.Forget(id))
		}
	}
}
