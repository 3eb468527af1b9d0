package bindings

import (
	"strconv"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// writtenCheckpoints has the last two checkpoints that this process wrote, newest first. Each has the values of its two
// annotations. Two are needed because the event of the first may arrive after the second was written.
type writtenCheckpoints [2][2]string

func (w writtenCheckpoints) has(c [2]string) bool {
	return c[1] != "" && (w[0] == c || w[1] == c)
}

// checkpointOf returns the values of the two checkpoint annotations of a binding: the checkpoint and its time.
func checkpointOf(b *elbv2.TargetGroupBinding) [2]string {
	return [2]string{b.Annotations[targets.CheckpointAnnotation], b.Annotations[targets.CheckpointTimeAnnotation]}
}

// IsOwnCheckpoint reports whether an update of a binding only contains a checkpoint that this process has just written. Such
// an update requires no run.
func (r *Reconciler) IsOwnCheckpoint(old, new cluster.Object) bool {
	a, ok := old.(*elbv2.TargetGroupBinding)
	b, ok2 := new.(*elbv2.TargetGroupBinding)
	if !ok || !ok2 || a == nil || b == nil || !targets.OnlyCheckpointDiffers(a, b) {
		return false
	}
	return r.memory.get(Key{Namespace: b.Namespace, Name: b.Name}).writtenCheckpoints.has(checkpointOf(b))
}

// recordCheckpointSet returns an update that records the checkpoint that a run sets, even if the annotation already has this
// value.
func recordCheckpointSet(value string) update {
	return func(e entry, _ updateInput) entry {
		e.checkpoint = &value
		return e
	}
}

// recordCheckpointWritten returns an update that records a checkpoint that is about to be written, and its time in Unix
// seconds.
func recordCheckpointWritten(value string, at int64) update {
	return func(e entry, _ updateInput) entry {
		e.writtenCheckpoints = writtenCheckpoints{{value, strconv.FormatInt(at, 10)}, e.writtenCheckpoints[0]}
		return e
	}
}
