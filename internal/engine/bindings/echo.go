package bindings

import (
	"strconv"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// writtenCheckpoints are the annotations of the checkpoints that were written last, newest first: the first may be
// notified after the second was written.
type writtenCheckpoints [2][2]string

func checkpointOf(b *elbv2.TargetGroupBinding) [2]string {
	return [2]string{b.Annotations[targets.CheckpointAnnotation], b.Annotations[targets.CheckpointTimeAnnotation]}
}

// Echo reports whether nothing but the checkpoint of a binding has changed, to one that this process wrote a moment ago.
// The run that wrote it needs no other.
func (r *Reconciler) Echo(old, new cluster.Object) bool {
	a, ok := old.(*elbv2.TargetGroupBinding)
	b, ok2 := new.(*elbv2.TargetGroupBinding)
	if !ok || !ok2 || a == nil || b == nil || !targets.OnlyCheckpointDiffers(a, b) {
		return false
	}
	return r.memory.hasWritten(Key{Namespace: b.Namespace, Name: b.Name}, checkpointOf(b))
}

func (m *memory) noteWritten(key Key, value string, at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[key] = writtenCheckpoints{{value, strconv.FormatInt(at, 10)}, m.written[key][0]}
}

func (m *memory) hasWritten(key Key, c [2]string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.written[key]
	return ok && c[1] != "" && (w[0] == c || w[1] == c)
}
