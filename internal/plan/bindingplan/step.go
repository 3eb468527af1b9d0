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

// Step is one action with its reason. Steps are carried out in order. If a step fails, the plan ends.
type Step struct {
	Do  Action
	Why string
}

// Action is the action of a step. It is one of the types below.
type Action interface{ action() }

// Register registers endpoints as targets. If UpToCapacity is set, it registers as many endpoints as the target group has
// capacity for. If AWS refuses an endpoint, the plan is made again with a RegistrationAttempt.
type Register struct {
	Endpoints []targets.Endpoint
	// KnownRefusals has the refusals of endpoints that are not sent again yet; nil if there are none.
	KnownRefusals *RegistrationAttempt
	UpToCapacity  bool
}

// Deregister deregisters targets.
type Deregister struct {
	Targets []*observed.Target
	// AllowMissing is set if a missing target is not a failure. AllowPostponed is set if a postponed call is not a failure.
	AllowMissing, AllowPostponed bool
}

// SyncRules changes the rules in the security groups of nodes and pods to the rules that all bindings request (see
// RuleAggregate). If ExcludeBinding is set, the rules that this binding requests are not counted. If MaxAge is not zero, the
// facts about security groups must not be older.
type SyncRules struct {
	ExcludeBinding bool
	// RetainPreviousRules is set if the previous rules of the binding are retained, because old targets still get requests.
	RetainPreviousRules bool
	// OnlyIfRequested is set if the step does nothing for a binding that has not requested rules before.
	OnlyIfRequested bool
	MaxAge          time.Duration
}

// AddFinalizer adds the finalizer to the binding, so that it exists until its targets are deregistered. The plan is made
// again after this step.
type AddFinalizer struct{}

// CompleteSpec writes properties of the target group in AWS into unset fields of the binding.
type CompleteSpec struct{ Spec elbv2.TargetGroupBindingSpec }

// RemoveFinalizer removes the finalizer from the binding, so that Kubernetes deletes it.
type RemoveFinalizer struct{}

// SetCheckpoint sets the checkpoint of a binding for which all steps were carried out. An empty value removes the
// checkpoint.
type SetCheckpoint struct {
	Value string
	// If IfRulesMissing is set, the step has an effect only if rules of the binding are missing.
	IfRulesMissing bool
}

// SetRecord records the targets of this cluster in a shared target group.
type SetRecord struct{ Identities map[string]bool }

// DropRecord deletes the record of the targets of this cluster in a shared target group.
type DropRecord struct{}

// SetGate sets the pod condition of a readiness gate.
type SetGate struct {
	Pod  *corev1.Pod
	Want targets.ReadinessCondition
	// OpensGate is set if the gate opens. Since is the time from which the pod has waited.
	OpensGate bool
	Since     time.Time
}

// SetStatus sets the status of the binding.
type SetStatus struct {
	Conditions           []metav1.Condition
	ReconciledGeneration *int64 // observed generation; nil: not changed
	// OnlyTextChanges is set if only the text of a fault changes.
	OnlyTextChanges bool
}

// WriteEvents writes Kubernetes events about the findings of a run.
type WriteEvents struct{ Patches []cluster.Patch }

// MemoryUpdate is an action that only changes the Memory of the binding.
type MemoryUpdate int

// The notes that a run can make in the Memory of its binding.
const (
	RecordBindingRead      MemoryUpdate = iota // the binding was read
	RecordBackendFound                         // the backend exists
	RecordBackendMissing                       // the backend or the binding does not exist
	RecordDeletedInUse                         // the binding is deleted while its target group is in use
	RecordResourcesRemoved                     // all targets and rules of the deleted binding were removed
	ForgetBinding                              // the binding does not exist any more, and all of its resources are removed
	RecordComparison                           // the binding was compared with AWS and is complete
	RecordSuccessPending                       // AWS was changed, and success will be reported when no call is postponed
	RecordSuccessReported                      // success was reported
	RecordRemovalNotNeeded                     // MakeRemoval is not needed
)

// RecordRegistered adds targets to Memory.RegisteredTargets.
type RecordRegistered struct{ Targets []*observed.Target }

// RetainRefusals removes the recorded refusals of all endpoints except those of RetainedEndpoints.
type RetainRefusals struct{ RetainedEndpoints []targets.Endpoint }

func (Register) action()         {}
func (RetainRefusals) action()   {}
func (Deregister) action()       {}
func (SyncRules) action()        {}
func (AddFinalizer) action()     {}
func (CompleteSpec) action()     {}
func (RemoveFinalizer) action()  {}
func (SetCheckpoint) action()    {}
func (SetRecord) action()        {}
func (DropRecord) action()       {}
func (SetGate) action()          {}
func (SetStatus) action()        {}
func (WriteEvents) action()      {}
func (MemoryUpdate) action()     {}
func (RecordRegistered) action() {}
