package bindingplan

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Key has the namespace and name of a TargetGroupBinding.
type Key = types.NamespacedName

// Facts has the facts about a binding from which its plan is made. A nil pointer means that the fact was not read. A plan
// that needs such a fact has a Question.
type Facts struct {
	Now     time.Time
	Key     Key
	Options Options
	Memory  Memory

	// StoredBinding is the binding in Kubernetes. If Absent is set, the binding does not exist any more, and StoredBinding is
	// its last known state; nil if that is unknown.
	StoredBinding *elbv2.TargetGroupBinding
	Absent        bool
	// CompletedBinding is a copy of StoredBinding in which unset fields have the properties of the target group in AWS.
	// DescribeFailure is the reason why these properties could not be read.
	CompletedBinding *elbv2.TargetGroupBinding
	DescribeFailure  *Failure
	// LiveTargetGroup is the target group in AWS. If it could not be read, the spec of the binding is used unchanged.
	LiveTargetGroup *TargetGroupAnswer
	// Resolution has the endpoints of the binding. DesiredCheckpoint is the checkpoint that the binding gets when its targets
	// are these endpoints.
	Resolution        targets.Resolution
	DesiredCheckpoint string
	// Owners has the objects, such as Ingresses, that also get the finding about a Service without ready endpoints.
	Owners []finding.Ref
	// GatedPods has the pods that have the readiness gate of the binding, except pods with targets.ReleasedCondition.
	GatedPods []*corev1.Pod

	Conflict    *Conflict
	Record      *TargetRecord
	Health      *Health
	ServingPods *ServingPods
	Network     *Network
	InUse       *UsageAnswer
	Forwards    *ForwardingAnswer
	// NeededByStack reports whether the stack for which the binding was created still needs it.
	NeededByStack         *bool
	TargetsWithoutBackend *TargetsWithoutBackend
	// FinalizerAdded is set if this run has added the finalizer.
	FinalizerAdded bool
	// SpecCompleted is set if this run has written properties of the target group into unset fields of the spec (action
	// CompleteSpec).
	SpecCompleted bool
	// Attempt is the result of registering targets in an earlier plan of this run.
	Attempt *RegistrationAttempt

	// AlreadyReported has what this run has reported so far.
	AlreadyReported ReportedState

	cachedComparison *comparison
}

// Options has the settings of the controller.
type Options struct {
	MaxTargets int    // per target group; 0 for no limit
	VPC        string // VPC of bindings without spec.vpcID
	Requeue    time.Duration
	// ResyncAge is the maximum age of facts about security groups in a periodic comparison with AWS.
	ResyncAge time.Duration
}

// Memory has what earlier runs of this process have recorded about a binding.
type Memory struct {
	WasRead          bool          // an earlier run has read the binding
	ComparisonDueIn  time.Duration // time until the next periodic comparison with AWS
	Checkpoint       string        // the checkpoint that was set last
	HasCheckpoint    bool
	ResourcesRemoved bool          // all targets and rules of the deleted binding were removed
	AbsentFor        time.Duration // how long the binding or its backend has been missing
	// RegisteredTargets has the targets that this process has registered for the binding, or has found registered. nil means
	// that it has not read them.
	RegisteredTargets *targets.IdentitySet
	// RefusedTargets has the targets that AWS has refused and that must not be sent again yet, by identity.
	RefusedTargets map[string]RefusedTarget
	// FlappingTargets has the ids of targets that were registered and deregistered repeatedly. They are not changed for the
	// time FlappingDelay, or FlappingDelayIfAlone if no other target can answer requests.
	FlappingTargets                     map[string]bool
	FlappingDelay, FlappingDelayIfAlone time.Duration
	// SuccessPending is set if an earlier run has changed AWS, but has not reported success yet because a call was
	// postponed.
	SuccessPending bool
	// FaultTextReportedAt is the time at which the text of a fault was last written to the status.
	FaultTextReportedAt time.Time
}

// RefusedTarget is a target that AWS has refused and would probably refuse again. It is not sent before Until.
type RefusedTarget struct {
	AWSFailure Failure // error of AWS
	RunFailure Failure // failure with which the run ended
	Until      time.Time
}

// Failure is an error of a read or a step.
type Failure struct {
	Err   error
	Class failure.Class
	// RetryAfter is the time until a call that the rate limiter has postponed may be sent.
	RetryAfter time.Duration
}

// isMissing reports whether a call failed because a resource does not exist or has an invalid identifier.
func (f Failure) isMissing() bool { return f.Class == failure.Gone || f.Class == failure.Invalid }

// UserError is an error whose cause a user has to correct.
type UserError struct{ Finding finding.Finding }

// Error implements error.
func (m UserError) Error() string { return m.Finding.Message }

// failureFinding returns the finding about a failure; false if the failure may be temporary.
func failureFinding(b *elbv2.TargetGroupBinding, f Failure) (finding.Finding, bool) {
	var known UserError
	if errors.As(f.Err, &known) {
		return known.Finding, true
	}
	m, ok := failure.MeaningOf(failure.Targets, f.Class, f.Err)
	if b.Spec.IamRoleArnToAssume != "" {
		m = m.ForAssumedRole()
	}
	x := finding.Finding{Object: targets.BindingRef(b), Severity: finding.Error, Reason: m.Reason, Message: failure.WithoutSDKText(f.Err), Fix: m.Fix}
	if m.Reason == finding.TargetGroupNotFound && b.Spec.TargetGroupARN != "" {
		x.Field, x.Message = "spec.targetGroupARN", fmt.Sprintf("target group %q does not exist; no target is registered", b.Spec.TargetGroupARN)
	}
	return x, ok
}

// TargetRecord has the facts that determine which targets may be deregistered.
type TargetRecord struct {
	// NeededByOthers has the targets that other bindings of the cluster need in the target group, by canonical identity.
	NeededByOthers map[string]bool
	// Shared is set if several clusters share the target group. In this case, Identities has the recorded targets of this
	// cluster in canonical form, and HasRecord is set if there is a record.
	Shared, HasRecord bool
	Identities        map[string]bool
	// Deregistered has the targets that this run has deregistered from a shared target group, in canonical form.
	Deregistered map[string]bool
	Failure      *Failure
}

// Health has the registered targets with their health. The list is no older than MaxAge.
type Health struct {
	Targets []*observed.Target
	MaxAge  time.Duration
	Failure *Failure
}

// ServingPods has, by address, the pods that are ready and not terminating. AskedAddresses has the addresses that were
// looked up.
type ServingPods struct {
	AskedAddresses map[string]bool
	Pods           map[string]*corev1.Pod
}

// TargetGroupAnswer is the answer to AskTargetGroup. TargetGroup is nil if the target group could not be read.
type TargetGroupAnswer struct{ TargetGroup *TargetGroup }

// Network has the address ranges of the VPC, and the Availability Zones of nodes.
type Network struct {
	VPC    string
	Ranges []string // of the VPC
	// Zones has the Availability Zones of the nodes of pods with addresses outside of the VPC, by the name of the node; "" if
	// the node has no zone label.
	Zones map[string]string
	// ZonesRequired is set if AWS has refused targets of the binding because they had no Availability Zone.
	ZonesRequired bool
	Failure       *Failure
}

// UsageAnswer is the answer to AskInUse. Used is set if a load balancer that is not being deleted sends requests to the
// target group.
type UsageAnswer struct {
	Used    bool
	Failure *Failure
}

// ForwardingAnswer is the answer to AskForwards. Found is set if a listener or listener rule of any load balancer forwards
// to the target group.
type ForwardingAnswer struct {
	Found   bool
	Failure *Failure
}

// isUnused reports whether AWS has answered that no load balancer forwards to the target group.
func (f *ForwardingAnswer) isUnused() bool { return f != nil && f.Failure == nil && !f.Found }

// TargetsWithoutBackend is the answer to AskTargetsWithoutBackend. It has those of the targets in the question that belong to
// no pod and no node.
type TargetsWithoutBackend struct{ Targets []*observed.Target }

// RegistrationAttempt is the result of registering targets.
type RegistrationAttempt struct {
	Refusals []Refusal
	// RetryIn is the time until the first refused target may be sent again.
	RetryIn     time.Duration
	LastFailure *Failure // failure of the last refused call
}

// Refusal has endpoints that AWS refused to register, the error of AWS, and the failure with which the run ends.
type Refusal struct {
	Endpoints              []targets.Endpoint
	AWSFailure, RunFailure Failure
}

// ReportedState has what a run has reported so far.
type ReportedState struct {
	Findings         finding.List
	StatusHasFault   bool // this run has written a fault to the status
	PodConditionsSet bool // this run has written the health of targets into pod conditions
	AWSChanged       bool // this run has changed AWS
	// RetryAfter is the time until the next run; zero if no run is requested.
	RetryAfter time.Duration
}

// Question asks for a fact that a plan needs; it is one of the types below.
type Question interface{ ask() }

// AskDescribed asks for Facts.CompletedBinding and Facts.DescribeFailure.
type AskDescribed struct{}

// AskTargetGroup asks for Facts.LiveTargetGroup, the target group in AWS.
type AskTargetGroup struct{}

// AskConflict asks whether another binding of the target group has precedence.
type AskConflict struct{}

// AskRecord asks which targets may be deregistered (Facts.Record). If BindingDeleted is set, the binding is being deleted,
// and the answer excludes targets that another binding will register.
type AskRecord struct{ BindingDeleted bool }

// AskHealth asks for the registered targets and their health. MaxAge is the maximum age of the answer; zero means that the
// targets must be read again.
type AskHealth struct{ MaxAge time.Duration }

// AskServing asks which pods with the addresses of the targets are ready and not terminating.
type AskServing struct{ Targets []*observed.Target }

// AskNetwork asks for the address ranges of the VPC, and for the Availability Zones of the endpoints outside of the VPC.
type AskNetwork struct{ Endpoints []targets.Endpoint }

// AskInUse asks whether a load balancer still sends requests to the target group of a deleted binding.
type AskInUse struct{}

// AskForwards asks whether a listener or listener rule of any load balancer forwards to the target group.
type AskForwards struct{}

// AskNeededByStack asks whether the stack for which the binding was created still needs it.
type AskNeededByStack struct{}

// AskTargetsWithoutBackend asks which of the targets belong to no pod and no node.
type AskTargetsWithoutBackend struct{ Targets []*observed.Target }

func (AskDescribed) ask()             {}
func (AskTargetGroup) ask()           {}
func (AskConflict) ask()              {}
func (AskRecord) ask()                {}
func (AskHealth) ask()                {}
func (AskServing) ask()               {}
func (AskNetwork) ask()               {}
func (AskInUse) ask()                 {}
func (AskForwards) ask()              {}
func (AskNeededByStack) ask()         {}
func (AskTargetsWithoutBackend) ask() {}
