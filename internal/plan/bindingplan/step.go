package bindingplan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Step is one thing to do. Steps are carried out in their order; one that fails ends the plan.
type Step struct {
	Do  Action
	Why string
}

// Action is what a step does: one of the types below.
type Action interface{ action() }

// Register registers endpoints. With Fill, a target group that has no room for all gets as many as it has room for.
// If any is refused, the plan is made again with the Attempt.
type Register struct {
	Endpoints []targets.Endpoint
	// Known is what is known beforehand of others that are not sent, nil if nothing.
	Known        *Attempt
	UpToCapacity bool
}

// Deregister takes targets out.
type Deregister struct {
	Targets []*observed.Target
	// MayMiss: it is no failure if AWS does not have them. MayWait: nor if the call is postponed.
	MayMiss, MayWait bool
}

// SyncRules brings the rules of the security groups of nodes and pods to what all bindings ask for; without
// this one if it is Leaving. What has to change in each group follows from all contributions, see Aggregate.
type SyncRules struct {
	Leaving bool
	// Keeps: old targets that serve on need their rules.
	Keeps bool
	// IfAsked: only if the binding has asked for rules before.
	IfAsked bool
	MaxAge  time.Duration
}

// AddFinalizer keeps the binding until its targets are taken out. The plan is made again once it is Claimed.
type AddFinalizer struct{}

// CompleteSpec fills in what a binding leaves open and AWS knows.
type CompleteSpec struct{ Spec elbv2.TargetGroupBindingSpec }

// RemoveFinalizer lets it go.
type RemoveFinalizer struct{}

// SetCheckpoint records what the binding looked like when it was done completely, or that it is not.
type SetCheckpoint struct {
	Value string
	// IfRulesMissing: only if not all rules of the binding are there.
	IfRulesMissing bool
}

// SetRecord records which targets of a shared target group this cluster is responsible for.
type SetRecord struct{ Identities map[string]bool }

// DropRecord removes the record.
type DropRecord struct{}

// SetGate sets the condition of a pod's readiness gate.
type SetGate struct {
	Pod  *corev1.Pod
	Want targets.Condition
	// Opens: the pod has waited for this since Since.
	Opens bool
	Since time.Time
}

// SetStatus sets the status of the binding.
type SetStatus struct {
	Conditions []metav1.Condition
	Observed   *int64 // generation; left as it is if nil
	// OnlyText: nothing changes but the text of a fault.
	OnlyText bool
}

// WriteEvents records events.
type WriteEvents struct{ Patches []cluster.Patch }

// Note is something that the process remembers.
type Note int

// The notes.
const (
	Known           Note = iota // the binding was seen
	BackendSeen                 // what endpoints are read from is there
	BackendMissing              // it is not, or the binding is not
	Departed                    // it goes while its target group is in use
	Released                    // it has taken back what it put in
	Forgotten                   // nothing is left of it
	Compared                    // it was compared with AWS and is complete
	SuccessPending              // AWS was changed, of which success is reported once no call waits
	SuccessReported             // success is reported
	NoRemoval                   // the target group needs no look for targets whose pods are gone
)

// NoteRegistered remembers targets that are registered.
type NoteRegistered struct{ Targets []*observed.Target }

// KeepRefusals forgets the refusals of other endpoints.
type KeepRefusals struct{ Of []targets.Endpoint }

func (Register) action()        {}
func (KeepRefusals) action()    {}
func (Deregister) action()      {}
func (SyncRules) action()       {}
func (AddFinalizer) action()    {}
func (CompleteSpec) action()    {}
func (RemoveFinalizer) action() {}
func (SetCheckpoint) action()   {}
func (SetRecord) action()       {}
func (DropRecord) action()      {}
func (SetGate) action()         {}
func (SetStatus) action()       {}
func (WriteEvents) action()     {}
func (Note) action()            {}
func (NoteRegistered) action()  {}
