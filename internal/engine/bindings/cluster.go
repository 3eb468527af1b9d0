package bindings

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Key names a TargetGroupBinding.
type Key = bindingplan.Key

// Cluster is Kubernetes as bindings need it.
type Cluster interface {
	// View returns a fresh view of the synced cache. It must not be given out before the cache
	// holds everything, because what is missing in it is taken out of target groups.
	View() *cluster.View
	// Change carries one write out. An object that is gone is no error, except for ClaimFinalizer.
	// A write that changes nothing is left out.
	Change(ctx context.Context, w Write) error
	// OwnedTargets reads, past every cache, the record of the targets that this cluster is
	// responsible for in a target group that several clusters fill; false if there is none.
	OwnedTargets(ctx context.Context, binding Key) (identities []string, recorded bool, err error)
	// Write records events.
	Write(ctx context.Context, patches []cluster.Patch) error
}

// Write is one write to Kubernetes: one of the types below.
type Write interface{ write() }

// ClaimFinalizer adds naming.BindingFinalizer to a binding, by a fresh read and a merge patch with
// optimistic lock.
type ClaimFinalizer struct{ Binding Key }

// ReleaseFinalizer removes it likewise.
type ReleaseFinalizer struct{ Binding Key }

// CompleteSpec sets the fields of the spec that describe the target group, unless the binding has changed meanwhile.
type CompleteSpec struct {
	Binding Key
	// Version of the binding that Spec completes.
	Version string
	Spec    elbv2.TargetGroupBindingSpec
}

// SetCheckpoint sets the checkpoint annotations of a binding by a merge patch without lock. The
// time is in Unix seconds.
type SetCheckpoint struct {
	Binding Key
	Value   string
	Time    int64
}

// SetStatus changes the status of a binding by a merge patch of the subresource.
type SetStatus struct {
	Binding Key
	// ObservedGeneration is left as it is if nil.
	ObservedGeneration *int64
	// Conditions is the whole list.
	Conditions []metav1.Condition
}

// SetPodCondition sets one condition of a pod by a strategic merge patch of its status, which
// applies only to the pod of that UID. LastTransitionTime moves when the status changes.
type SetPodCondition struct {
	Namespace, Name string
	UID             types.UID
	Type            string
	Status          string // True, False, Unknown
	Reason, Message string
}

// SetOwnedTargets records the targets that this cluster is responsible for.
type SetOwnedTargets struct {
	Binding    Key
	Identities []string // ascending
}

// DropOwnedTargets removes the record.
type DropOwnedTargets struct{ Binding Key }

func (SetOwnedTargets) write()  {}
func (DropOwnedTargets) write() {}

func (ClaimFinalizer) write()   {}
func (ReleaseFinalizer) write() {}
func (CompleteSpec) write()     {}
func (SetCheckpoint) write()    {}
func (SetStatus) write()        {}
func (SetPodCondition) write()  {}
