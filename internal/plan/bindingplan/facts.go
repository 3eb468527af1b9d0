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

// Facts has the facts about a binding from which its plan is made. A nil pointer is a fact that was not read; a
// plan that needs it has a Question.
type Facts struct {
	Now     time.Time
	Key     Key
	Options Options
	Memory  Memory

	// Stored is the binding in Kubernetes. If Absent is set, it does not exist any more, and Stored is its last known state, nil
	// if that is unknown.
	Stored *elbv2.TargetGroupBinding
	Absent bool
	// Described is Stored, completed with properties of its target group in AWS. Undescribed is the reason why these could
	// not be read.
	Described   *elbv2.TargetGroupBinding
	Undescribed *Failure
	// Group is the target group in AWS. If it could not be read, the spec of the binding is used as it is.
	Group *GroupAnswer
	// Resolution has the endpoints, and Want is the checkpoint for them.
	Resolution targets.Resolution
	Want       string
	// Owners has the objects, such as Ingresses, that also get the finding about a Service without ready endpoints.
	Owners []finding.Ref
	// GatedPods has the pods with the readiness gate of the binding, except those with targets.ReleasedCondition.
	GatedPods []*corev1.Pod

	Conflict *Conflict
	Record   *Record
	Health   *Health
	Serving  *Serving
	Network  *Network
	InUse    *InUse
	Forwards *Forwards
	// Wanted reports whether the stack for which the binding was created still needs it.
	Wanted *bool
	Gone   *Gone
	// Claimed is set if this run has added the finalizer.
	Claimed bool
	// Completed is set if this run has completed the spec of the binding.
	Completed bool
	// Attempt is the result of registering the targets of an earlier plan of this run.
	Attempt *Attempt

	// Reported has what this run has already reported.
	Reported Reported

	compared *comparison
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
	Known         bool          // an earlier run has read the binding
	DueIn         time.Duration // time until the next periodic comparison with AWS
	Checkpoint    string        // the checkpoint that was set last
	HasCheckpoint bool
	Released      bool          // all targets and rules of the deleted binding were removed
	AbsentFor     time.Duration // how long the binding or its backend has been missing
	// Registered has the targets that this process has registered or found registered for the binding; nil if it has not read them.
	Registered *targets.IdentitySet
	// Refused has the targets that AWS has refused and that must not be sent again yet, by identity.
	Refused map[string]RefusedTarget
	// Flapping has the ids of targets that were registered and deregistered repeatedly. They are not changed for FlappingFor, or
	// for FlappingAlone if no other target can serve.
	Flapping                   map[string]bool
	FlappingFor, FlappingAlone time.Duration
	// SuccessPending is set if an earlier run has changed AWS, and has not reported success because a call was postponed.
	SuccessPending bool
	// TextReported is the time at which the text of a fault was last written.
	TextReported time.Time
}

// RefusedTarget is a target that AWS has refused, and would probably refuse again.
type RefusedTarget struct {
	Because Failure // error of AWS
	Run     Failure // failure that the run reported
	Until   time.Time
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

// UserError is an error that a user has to correct.
type UserError struct{ Finding finding.Finding }

// Error implements error.
func (m UserError) Error() string { return m.Finding.Message }

// findingOf returns the finding about a failure; false if the failure may be temporary.
func findingOf(b *elbv2.TargetGroupBinding, f Failure) (finding.Finding, bool) {
	var known UserError
	if errors.As(f.Err, &known) {
		return known.Finding, true
	}
	m, ok := failure.MeaningOf(failure.Targets, f.Class, f.Err)
	if b.Spec.IamRoleArnToAssume != "" {
		m = m.OfRole()
	}
	x := finding.Finding{Object: targets.Ref(b), Severity: finding.Error, Reason: m.Reason, Message: failure.WithoutSDKText(f.Err), Fix: m.Fix}
	if m.Reason == finding.TargetGroupNotFound && b.Spec.TargetGroupARN != "" {
		x.Field, x.Message = "spec.targetGroupARN", fmt.Sprintf("target group %q does not exist; no target is registered", b.Spec.TargetGroupARN)
	}
	return x, ok
}

// Record determines which targets may be deregistered.
type Record struct {
	// Others has the targets that other bindings of the cluster need in the target group, by canonical identity.
	Others map[string]bool
	// Shared is set if several clusters share the target group. Identities has the recorded targets of this cluster then, in
	// canonical form, and Recorded reports whether there is a record.
	Shared, Recorded bool
	Identities       map[string]bool
	Failure          *Failure
}

// Health has the registered targets with their health. They are no older than MaxAge.
type Health struct {
	Targets []*observed.Target
	MaxAge  time.Duration
	Failure *Failure
}

// Serving has the pods that are ready and not terminating, by address. Asked has the addresses that were looked up.
type Serving struct {
	Asked map[string]bool
	Pods  map[string]*corev1.Pod
}

// GroupAnswer has a target group, nil if it could not be read.
type GroupAnswer struct{ TargetGroup *TargetGroup }

// Network has the address ranges of the VPC, and the availability zones of nodes.
type Network struct {
	VPC    string
	Ranges []string // of the VPC
	// Zones has the zones of the nodes of pods outside of the VPC, by name of the node; "" if the node has no zone label.
	Zones map[string]string
	// ZonesWanted is set if AWS has refused targets of the binding without a zone.
	ZonesWanted bool
	Failure     *Failure
}

// InUse reports whether a load balancer that is not being deleted sends requests to the target group.
type InUse struct {
	Used    bool
	Failure *Failure
}

// Forwards reports whether a listener or rule of any load balancer forwards to the target group.
type Forwards struct {
	Found   bool
	Failure *Failure
}

// isUnused reports whether AWS has reported that no load balancer uses the target group.
func (f *Forwards) isUnused() bool { return f != nil && f.Failure == nil && !f.Found }

// Gone has the targets of AskGone that belong to no pod and no node.
type Gone struct{ Targets []*observed.Target }

// Attempt is the result of registering targets.
type Attempt struct {
	Refused []Refusal
	// RetryIn is the time until the first refused target may be sent again.
	RetryIn time.Duration
	Failed  *Failure // the last failure
}

// Refusal has endpoints that were not registered, the error of AWS, and the failure of the run.
type Refusal struct {
	Endpoints    []targets.Endpoint
	Because, Run Failure
}

// Reported has what a run has reported.
type Reported struct {
	Findings finding.List
	Fault    bool // the status has a fault of this run
	Pods     bool // the conditions of pods have the health of their targets
	Changed  bool // AWS was changed
	// RetryAfter is the time until the next run, zero if none is requested.
	RetryAfter time.Duration
}

// Question asks for a fact that a plan needs; it is one of the types below.
type Question interface{ ask() }

// AskDescribed asks for Facts.Described.
type AskDescribed struct{}

// AskTargetGroup asks for the target group in AWS.
type AskTargetGroup struct{}

// AskConflict asks whether another binding of the target group has precedence.
type AskConflict struct{}

// AskRecord asks which targets may be deregistered. If the binding is deleted (Leaving), targets that another binding will
// register are excluded.
type AskRecord struct{ Leaving bool }

// AskHealth asks for the registered targets.
type AskHealth struct{ MaxAge time.Duration }

// AskServing asks for the pods at the addresses of targets.
type AskServing struct{ Targets []*observed.Target }

// AskNetwork asks where the addresses of endpoints are.
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
