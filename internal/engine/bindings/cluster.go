package bindings

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Key is the namespace and name of a TargetGroupBinding.
type Key = bindingplan.Key

// Cluster makes the reads and writes of Kubernetes objects that bindings need.
type Cluster interface {
	// View returns a fresh view of the synced cache. Reads fail before the cache is complete, because endpoints that are
	// missing in the cache would be deregistered.
	View() *cluster.View
	// Change makes one write. If the object does not exist, it returns no error, except for AddFinalizer. A write that
	// changes nothing is not sent.
	Change(ctx context.Context, w Write) error
	// OwnedTargets reads, from the API server, the record of the targets that this cluster is responsible for, if several
	// clusters register targets in the same target group. recorded is false if there is no record.
	OwnedTargets(ctx context.Context, binding Key) (identities []string, recorded bool, err error)
	// Write writes events, and records which warnings are still true (cluster.LastingWarnings).
	Write(ctx context.Context, patches []cluster.Patch) error
}

// Write is one write to Kubernetes: one of the types below.
type Write interface{ write() }

// AddFinalizer adds naming.BindingFinalizer to a binding. The binding is read from the API server, and changed by a merge
// patch with its resourceVersion.
type AddFinalizer struct{ Binding Key }

// RemoveFinalizer removes naming.BindingFinalizer from a binding, in the same way as AddFinalizer adds it.
type RemoveFinalizer struct{ Binding Key }

// CompleteSpec sets the fields of the spec that describe the target group. It fails if the binding has changed since it was
// read.
type CompleteSpec struct {
	Binding Key
	// Version is the resourceVersion of the binding that was read.
	Version string
	Spec    elbv2.TargetGroupBindingSpec
}

// SetCheckpoint sets the checkpoint annotations of a binding by a merge patch without resourceVersion. Time is in Unix
// seconds.
type SetCheckpoint struct {
	Binding Key
	Value   string
	Time    int64
}

// SetStatus changes the status of a binding by a merge patch of the subresource.
type SetStatus struct {
	Binding Key
	// ObservedGeneration is the new observed generation; nil: the observed generation is not changed.
	ObservedGeneration *int64
	// Conditions are all conditions of the new status.
	Conditions []metav1.Condition
}

// SetPodCondition sets one condition of a pod by a strategic merge patch of the pod status. It has no effect on another pod
// with the same name but another UID. lastTransitionTime changes only if Status changes.
type SetPodCondition struct {
	Namespace, Name string
	UID             types.UID
	Type            string
	Status          string // True, False, Unknown
	Reason, Message string
}

// SetOwnedTargets writes the record of the targets that this cluster is responsible for (Cluster.OwnedTargets).
type SetOwnedTargets struct {
	Binding    Key
	Identities []string // sorted in ascending order
}

// DropOwnedTargets deletes the record that SetOwnedTargets writes.
type DropOwnedTargets struct{ Binding Key }

func (SetOwnedTargets) write()  {}
func (DropOwnedTargets) write() {}

func (AddFinalizer) write()    {}
func (RemoveFinalizer) write() {}
func (CompleteSpec) write()    {}
func (SetCheckpoint) write()   {}
func (SetStatus) write()       {}
func (SetPodCondition) write() {}
