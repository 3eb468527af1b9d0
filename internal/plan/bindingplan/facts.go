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

// Key names a TargetGroupBinding.
type Key = types.NamespacedName

// Facts are what is known of a binding when its plan is made. A nil pointer is a fact that was not read; a
// plan that needs it asks for it.
type Facts struct {
	Now     time.Time
	Key     Key
	Options Options
	Memory  Memory

	// Stored is the binding as Kubernetes has it. If it is Absent, it is as it was last known, nil if it is
	// not known.
	Stored *elbv2.TargetGroupBinding
	Absent bool
	// Described is Stored with what only AWS knows filled in, or Undescribed why that is not known.
	Described   *elbv2.TargetGroupBinding
	Undescribed *Failure
	// Group is the target group as AWS has it, if that could be read. If not, the binding is served as it stands.
	Group *GroupAnswer
	// Found are the endpoints, and Want is the checkpoint that goes with them.
	Resolution targets.Resolution
	Want       string
	// Owners are the objects whose users look for what is said of the Service, where no pod serves behind it.
	Owners []finding.Ref
	// GatedPods are the pods with the readiness gate of the binding that were not released.
	GatedPods []*corev1.Pod

	Conflict *Conflict
	Record   *Record
	Health   *Health
	Serving  *Serving
	Network  *Network
	InUse    *InUse
	Forwards *Forwards
	// Wanted: the stack that the binding was made for is to stay.
	Wanted *bool
	Gone   *Gone
	// Claimed: this run has added the finalizer.
	Claimed bool
	// Completed: this run has written what AWS knows into the binding.
	Completed bool
	// Attempt is what became of registering the targets of an earlier plan from these facts.
	Attempt *Attempt

	// Reported is what this run has reported already.
	Reported Reported

	compared *comparison
}

// Options are settings of the controller.
type Options struct {
	MaxTargets int    // per target group; 0 for no limit
	VPC        string // of target groups whose binding names none
	Requeue    time.Duration
	// ResyncAge is how old what a comparison with AWS uses may be, if it is due because of its time.
	ResyncAge time.Duration
}

// Memory is what the process remembers of a binding.
type Memory struct {
	Known         bool          // an earlier run has seen it
	DueIn         time.Duration // until it is compared with AWS although nothing changed
	Checkpoint    string        // the checkpoint that was set last
	HasCheckpoint bool
	Released      bool          // it has taken back what it put in
	AbsentFor     time.Duration // since when the binding, or what its endpoints are read from, is not there
	// Registered are the targets that this process knows to be registered for it; nil if it has not looked.
	Registered *targets.IdentitySet
	// Refused are the targets that AWS has refused and that are not sent again yet, by identity.
	Refused map[string]RefusedTarget
	// Flapping are the targets that came back again and again, by id, which are left as they are for FlappingFor, or, where no
	// other target can serve, for FlappingAlone.
	Flapping                   map[string]bool
	FlappingFor, FlappingAlone time.Duration
	// SuccessPending: an earlier run has changed AWS, and success is not reported yet as a call waited.
	SuccessPending bool
	// TextReported is when the text of a fault was last written.
	TextReported time.Time
}

// RefusedTarget is a target that AWS has refused and would refuse again.
type RefusedTarget struct {
	Because Failure // of AWS
	Run     Failure // as the run reported it
	Until   time.Time
}

// Failure is an error of a read or a step.
type Failure struct {
	Err   error
	Class failure.Class
	// Turn is when a call that was not sent would have its turn.
	RetryAfter time.Duration
}

// missing reports whether a failure is about something that is not there any more.
func (f Failure) missing() bool { return f.Class == failure.Gone || f.Class == failure.Invalid }

// UserError is an error that is known to be one of a person.
type UserError struct{ Finding finding.Finding }

// Error implements error.
func (m UserError) Error() string { return m.Finding.Message }

// findingOf returns a failure as a finding about a binding; false if it may pass without a change of input.
func findingOf(b *elbv2.TargetGroupBinding, f Failure) (finding.Finding, bool) {
	var known UserError
	if errors.As(f.Err, &known) {
		return known.Finding, true
	}
	m, ok := failure.MeaningOf(failure.Targets, f.Class, f.Err)
	if b.Spec.IamRoleArnToAssume != "" {
		m = m.OfRole()
	}
	x := finding.Finding{Object: targets.Ref(b), Severity: finding.Error, Reason: m.Reason, Message: failure.Plainly(f.Err), Fix: m.Fix}
	if m.Reason == finding.TargetGroupNotFound && b.Spec.TargetGroupARN != "" {
		x.Field, x.Message = "spec.targetGroupARN", fmt.Sprintf("target group %q does not exist; no target is registered", b.Spec.TargetGroupARN)
	}
	return x, ok
}

// Record is what may be taken out of the target group.
type Record struct {
	// Leaving is as asked.
	Leaving bool
	// Others are what other bindings of the cluster want in the group, by canonical identity.
	Others map[string]bool
	// Shared: the group has targets that are none of ours. Identities are then those that are recorded as ours, in
	// canonical form, if there is a record.
	Shared, Recorded bool
	Identities       map[string]bool
	Failure          *Failure
}

// Health is the registered targets, no older than MaxAge.
type Health struct {
	Targets []*observed.Target
	MaxAge  time.Duration
	Failure *Failure
}

// Serving are pods that are ready and not about to go, by the address that was asked about.
type Serving struct {
	Asked map[string]bool
	Pods  map[string]*corev1.Pod
}

// GroupAnswer is a target group, nil if it could not be read.
type GroupAnswer struct{ TargetGroup *TargetGroup }

// Network is where addresses are.
type Network struct {
	VPC    string
	Ranges []string // of the VPC
	// Zones are the zones of the nodes of pods outside of the VPC, by name of the node; "" without the label.
	Zones map[string]string
	// ZonesWanted: AWS has asked for the zones of the binding's targets.
	ZonesWanted bool
	Failure     *Failure
}

// InUse reports whether a load balancer whose Ingress is to stay sends requests to the target group.
type InUse struct {
	Is      bool
	Failure *Failure
}

// Forwards reports whether a listener or rule of any load balancer forwards to the target group.
type Forwards struct {
	Is      bool
	Failure *Failure
}

// isUnused reports whether AWS has reported that no load balancer uses the target group.
func (f *Forwards) isUnused() bool { return f != nil && f.Failure == nil && !f.Is }

// Gone are the targets, of those asked about, to which no pod and no node belongs.
type Gone struct{ Targets []*observed.Target }

// Attempt is what became of registering targets.
type Attempt struct {
	Refused []Refusal
	// Untried is when the first target that was not sent again may be sent.
	Untried time.Duration
	Failed  *Failure // the last one
}

// Refusal is endpoints that were not registered, why, and the failure of the run for that.
type Refusal struct {
	Endpoints    []targets.Endpoint
	Because, Run Failure
}

// Reported is what a run has reported.
type Reported struct {
	Findings finding.List
	Fault    bool // the status has a fault of this run
	Pods     bool // pods show the health of their targets
	Changed  bool // AWS was changed
	// RetryAfter is when to look again, zero if nothing asks for it.
	RetryAfter time.Duration
}

// Question asks for a fact that a plan needs; it is one of the types below.
type Question interface{ ask() }

// AskDescribed asks for what only AWS knows of the target group.
type AskDescribed struct{}

// AskGroup asks for the target group as AWS has it.
type AskGroup struct{}

// AskConflict asks for another binding of the target group.
type AskConflict struct{}

// AskRecord asks for what may be taken out; of a binding that is Leaving, also for what its successor wants.
type AskRecord struct{ Leaving bool }

// AskHealth asks for the registered targets.
type AskHealth struct{ MaxAge time.Duration }

// AskServing asks for the pods at the addresses of targets.
type AskServing struct{ Targets []*observed.Target }

// AskNetwork asks where the addresses of endpoints are.
type AskNetwork struct{ Endpoints []targets.Endpoint }

// AskInUse asks whether the target group of a binding that goes is still in use.
type AskInUse struct{}

// AskForwards asks whether any load balancer uses the target group.
type AskForwards struct{}

// AskWanted asks whether the stack that the binding was made for is to stay.
type AskWanted struct{}

// AskGone asks which targets nothing stands for.
type AskGone struct{ Targets []*observed.Target }

func (AskDescribed) ask() {}
func (AskGroup) ask()     {}
func (AskConflict) ask()  {}
func (AskRecord) ask()    {}
func (AskHealth) ask()    {}
func (AskServing) ask()   {}
func (AskNetwork) ask()   {}
func (AskInUse) ask()     {}
func (AskForwards) ask()  {}
func (AskWanted) ask()    {}
func (AskGone) ask()      {}
