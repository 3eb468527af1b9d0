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

// Facts has the facts about a binding from which its plan is made. A nil pointer is a fact that was not read; a plan that
// needs this fact has a Question.
type Facts struct {
	Now     time.Time
	Key     Key
	Options Options
	Memory  Memory

	// StoredBinding is the binding in Kubernetes. If Absent is set, it does not exist any more, and StoredBinding is its
	// last known state, nil if that is unknown.
	StoredBinding *elbv2.TargetGroupBinding
	Absent        bool
	// CompletedBinding is StoredBinding, in which unset fields have the properties of the target group in AWS.
	// DescribeFailure is the reason why these properties could not be read.
	CompletedBinding *elbv2.TargetGroupBinding
	DescribeFailure  *Failure
	// LiveTargetGroup is the target group in AWS. If it could not be read, the spec of the binding is used as it is.
	LiveTargetGroup *TargetGroupAnswer
	// Resolution has the endpoints of the binding. DesiredCheckpoint is the checkpoint of a binding whose targets are these
	// endpoints.
	Resolution        targets.Resolution
	DesiredCheckpoint string
	// Owners has the objects, such as Ingresses, that also get the finding about a Service without ready endpoints.
	Owners []finding.Ref
	// GatedPods has the pods with the readiness gate of the binding, except those with targets.ReleasedCondition.
	GatedPods []*corev1.Pod

	Conflict    *Conflict
	Record      *TargetRecord
	Health      *Health
	ServingPods *ServingPods
	Network     *Network
	InUse       *UsageAnswer
	Forwards    *ForwardingAnswer
	// NeededByStack reports whether the stack for which the binding was created still needs it.
	NeededByStack *bool
	GoneTargets   *GoneTargets
	// FinalizerAdded is set if this run has added the finalizer.
	FinalizerAdded bool
	// SpecCompleted is set if this run has written properties of the target group into unset fields of the spec
	// (CompleteSpec).
	SpecCompleted bool
	// Attempt is the result of registering the targets of an earlier plan of this run.
	Attempt *RegistrationAttempt

	// AlreadyReported has what this run has already reported.
	AlreadyReported ReportedState

	cachedComparison *comparison
}

// Options has the settings of the controller.
type Options struct {
	MaxTargets int    // per target group; 0 for no limit
	VPC        string // VPC of bindings without spec.vpcID
	Requeue    time.Duration
	// ResyncAge is the maximum age of the targets in a periodic comparison with AWS.
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
	// RegisteredTargets has the targets that this process has registered or found registered for the binding; nil if it has
	// not read them.
	RegisteredTargets *targets.IdentitySet
	// RefusedTargets has the targets that AWS has refused and that must not be sent again yet, by identity.
	RefusedTargets map[string]RefusedTarget
	// FlappingTargets has the ids of targets that were registered and deregistered repeatedly. They are not changed for
	// FlappingDelay, or for FlappingDelayIfAlone if no other target can answer requests.
	FlappingTargets                     map[string]bool
	FlappingDelay, FlappingDelayIfAlone time.Duration
	// SuccessPending is set if an earlier run has changed AWS, but has not reported success yet because a call was
	// postponed.
	SuccessPending bool
	// FaultTextReportedAt is the time at which the text of a fault was last written to the status.
	FaultTextReportedAt time.Time
}

// RefusedTarget is a target that AWS has refused, and would probably refuse again.
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

// isMissing reports whether a call failed because a resource does not exist.
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

// TargetRecord determines which targets may be deregistered.
type TargetRecord struct {
	// NeededByOthers has the targets that other bindings of the cluster need in the target group, by canonical identity.
	NeededByOthers map[string]bool
	// Shared is set if several clusters share the target group. Then Identities has the recorded targets of this cluster, in
	// canonical form, and HasRecord is set if there is a record.
	Shared, HasRecord bool
	Identities        map[string]bool
	Failure           *Failure
}

// Health has the registered targets with their health. The list is no older than MaxAge.
type Health struct {
	Targets []*observed.Target
	MaxAge  time.Duration
	Failure *Failure
}

// ServingPods has the pods that are ready and not terminating, by address. AskedAddresses has the addresses that were looked
// up.
type ServingPods struct {
	AskedAddresses map[string]bool
	Pods           map[string]*corev1.Pod
}

// TargetGroupAnswer is the answer to AskTargetGroup: the target group, nil if it could not be read.
type TargetGroupAnswer struct{ TargetGroup *TargetGroup }

// Network has the address ranges of the VPC, and the availability zones of nodes.
type Network struct {
	VPC    string
	Ranges []string // of the VPC
	// Zones has the zones of the nodes of pods outside of the VPC, by name of the node; "" if the node has no zone label.
	Zones map[string]string
	// ZonesRequired is set if AWS has refused targets of the binding without a zone.
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

// isUnused reports whether AWS has reported that no load balancer uses the target group.
func (f *ForwardingAnswer) isUnused() bool { return f != nil && f.Failure == nil && !f.Found }

// GoneTargets is the answer to AskGone: the targets of the question that belong to no pod and no node.
type GoneTargets struct{ Targets []*observed.Target }

// RegistrationAttempt is the result of registering targets.
type RegistrationAttempt struct {
	Refusals []Refusal
	// RetryIn is the time until the first refused target may be sent again.
	RetryIn     time.Duration
	LastFailure *Failure // the last failure
}

// Refusal has endpoints that were not registered, the error of AWS, and the failure with which the run ends.
type Refusal struct {
	Endpoints              []targets.Endpoint
	AWSFailure, RunFailure Failure
}

// ReportedState has what a run has reported.
type ReportedState struct {
	Findings         finding.List
	StatusHasFault   bool // this run has written a fault to the status
	PodConditionsSet bool // the run has written the health of targets into pod conditions
	AWSChanged       bool // AWS was changed
	// RetryAfter is the time until the next run, zero if none is requested.
	RetryAfter time.Duration
}

// Question asks for a fact that a plan needs; it is one of the types below.
type Question interface{ ask() }

// AskDescribed asks for Facts.CompletedBinding.
type AskDescribed struct{}

// AskTargetGroup asks for Facts.LiveTargetGroup, the target group in AWS.
type AskTargetGroup struct{}

// AskConflict asks whether another binding of the target group has precedence.
type AskConflict struct{}

// AskRecord asks which targets may be deregistered. If the binding is deleted (BindingDeleted), targets that another binding
// will register are excluded.
type AskRecord struct{ BindingDeleted bool }

// AskHealth asks for the registered targets.
type AskHealth struct{ MaxAge time.Duration }

// AskServing asks for the pods at the addresses of targets.
type AskServing struct{ Targets []*observed.Target }

// AskNetwork asks for the address ranges of the VPC, and for the zones of the endpoints outside of it.
type AskNetwork struct{ Endpoints []targets.Endpoint }

// AskInUse asks whether the target group of a deleted binding is still in use.
type AskInUse struct{}

// AskForwards asks whether any load balancer uses the target group.
type AskForwards struct{}

// AskWanted asks whether the stack for which the binding was created still needs it.
type AskWanted struct{}

// AskGone asks which targets belong to no pod and no node.
type AskGone struct{ Targets []*observed.Target }

func (AskDescribed) ask()   {}
func (AskTargetGroup) ask() {}
func (AskConflict) ask()    {}
func (AskRecord) ask()      {}
func (AskHealth) ask()      {}
func (AskServing) ask()     {}
func (AskNetwork) ask()     {}
func (AskInUse) ask()       {}
func (AskForwards) ask()    {}
func (AskWanted) ask()      {}
func (AskGone) ask()        {}
