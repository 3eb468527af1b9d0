package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// Frontend translates Kubernetes objects of one kind into stacks, and reports the results on these objects.
type Frontend interface {
	// Stacks returns the stacks to which an object belongs, according to its content or to its finalizers. It does not
	// depend on whether the object can be translated.
	Stacks(v *cluster.View, obj cluster.Object) []model.StackID
	// Translate returns the desired state of a stack. It never fails: configuration errors of users are returned as
	// findings. The stack is empty if it has no members. live is nil in the first call. If the returned stack is Contested,
	// it is translated again, and live is the observed state.
	Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List)
	// WithdrawnResources returns the parts of the observed state that the members of a stack have no right to use any more.
	// It also returns the questions to AWS whose answers are still missing; until they are answered, the result may be
	// incomplete. The engine calls it if the plan holds resources that differ from the desired state.
	WithdrawnResources(v *cluster.View, id model.StackID, have observed.Stack) (model.Withdrawn, []model.Question)
	// Report returns the status and the events that are written after a run. The outcome of a run that failed as a whole has
	// no DNS names and no changes.
	Report(v *cluster.View, o Outcome) []cluster.Patch
}

// Frontends are the frontends that a process serves.
type Frontends map[model.Kind]Frontend

// Stacks returns the stacks of all frontends to which an object belongs, ordered by kind.
func (f Frontends) Stacks(v *cluster.View, obj cluster.Object) (out []model.StackID) {
	for _, k := range slices.Sorted(maps.Keys(f)) {
		out = append(out, f[k].Stacks(v, obj)...)
	}
	return out
}

// Cloud makes the calls to AWS that the engine needs. Apply never waits until AWS has applied a change. If the answer to a
// change is lost, the next Observe shows whether the change was made.
type Cloud interface {
	// Observe returns the observed state of a stack in AWS, with the answers to questions.
	Observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error)
	// Apply carries out one step. known has the IDs of existing resources, and of resources that earlier steps have created.
	Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.StepResult, error)
	// Class classifies an error of Observe or Apply.
	Class(err error) failure.Class
}

// Cluster makes the reads and writes of Kubernetes objects that the engine needs.
type Cluster interface {
	// View returns a new view of the synced cache.
	View() *cluster.View
	// Bindings returns the TargetGroupBindings of a stack, in the form of the observed state.
	Bindings(v *cluster.View, id model.StackID) []observed.Binding
	// Subscribe subscribes a view to the TargetGroupBindings of a stack, without reading them.
	Subscribe(v *cluster.View, id model.StackID)
	// Apply carries out one step that writes to Kubernetes (plan.WritesToKubernetes).
	Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.StepResult, error)
	// Write writes patches of status and events. It skips a patch that changes nothing.
	Write(ctx context.Context, patches []cluster.Patch) error
	// Class classifies an error of Apply or Write.
	Class(err error) failure.Class
}

// Outcome is the result of a run of a stack.
type Outcome struct {
	ID model.StackID
	// View is the view of the run. It has all objects that the run and its report have read.
	View *cluster.View
	// Stack is the desired state as it was carried out, including its held parts.
	Stack    model.Stack
	Findings finding.List
	Plan     plan.Plan
	// Have is the observed state from which the plan was made.
	Have observed.Stack
	// Document describes the stack after the plan is carried out. It is nil if no document was requested (Stack.Describe),
	// or if the resources are not known.
	Document *document.Document
	// Done reports whether every step was carried out and the run waits for nothing.
	Done bool
	// holdsRefusedSteps reports whether parts are held because AWS refused their steps. The next plan contains these steps
	// again, although there is no drift.
	holdsRefusedSteps bool
	// sharesLoadBalancer reports whether the load balancer belongs to another stack, or is being handed over.
	sharesLoadBalancer bool
	// CarriedOutSteps are the steps that were carried out, of all plans of the run.
	CarriedOutSteps map[plan.StepID]bool
	// Observations is the number of times that the stack was observed.
	Observations int
	// Changed reports whether a step was carried out. Steps that only repeat a change that AWS does not persist are ignored.
	Changed bool
	// Deferred reports whether the run did nothing, because the desired state matches the checkpoint and the first
	// comparison after the start is not due.
	Deferred bool
	// DNSNames has the DNS names of the load balancers that clients may use, in lower case, by the address ID of the load
	// balancer.
	DNSNames map[string]string
	// LiveLoadBalancers has the load balancers in AWS, by their address ID.
	LiveLoadBalancers map[string]LiveLoadBalancer
	// RetryAfter is the time until the stack runs again without an event. If it is zero, the stack runs only after an event.
	RetryAfter time.Duration
	// Idle reports whether nothing is left to do. RetryAfter is then the time until the next comparison with AWS.
	Idle bool
	// Drift has the findings about drift that the run corrects.
	Drift finding.List
	// FailedSteps are the steps that failed in the last plan of the run. Findings report them.
	FailedSteps []FailedStep
	// Err is set if the whole run failed, because a read failed or because of a failure of unknown class. The queue then
	// retries the stack with back-off. FailedPhase is the phase of that failure.
	Err         error
	FailedPhase Phase
}

// LiveLoadBalancer is a load balancer in AWS that clients may use.
type LiveLoadBalancer struct {
	ARN string
	// Active reports whether AWS has provisioned the load balancer (state "active" or "active_impaired").
	Active bool
}

// IsStackDeleted reports whether the stack has no resources in AWS any more and no object belongs to the stack. It is false
// for stacks with held parts.
func (o Outcome) IsStackDeleted() bool {
	held := o.Plan.HasRetainedParts && (o.Stack.Held.AllResources || len(o.Stack.Held.Members) > 0)
	return o.Stack.IsEmpty() && !held && o.Done && o.Err == nil &&
		!slices.ContainsFunc(o.Stack.Leaving, func(m model.Member) bool { return m.Claimed })
}

// Phase is a part of a run whose duration is measured.
type Phase string

// The phases of a run, in their order.
const (
	ViewPhase    Phase = "view"
	ObservePhase Phase = "observe"
	PlanPhase    Phase = "plan"
	ApplyPhase   Phase = "apply"
	ReportPhase  Phase = "report"
)

// FailedStep is a step that failed or was skipped, and why.
type FailedStep struct {
	Step  plan.Step
	Class failure.Class
	Err   error
	// Streak is how many times in a row AWS has refused the step.
	Streak int
	// Wait is the time until the step may be called again. It is 0 if the back-off of the queue decides.
	Wait time.Duration
	// Called reports whether the step was called in this run. It is false if the failure is from an earlier run.
	Called bool
	// Skipped reports whether the step was never called, because AWS refused other steps of its scope. Err is then the error
	// of one of these steps.
	Skipped bool

	key stepKey
}

// forDelayedStep returns f as the failure of step s, which makes no call for the duration wait.
func (f FailedStep) forDelayedStep(s plan.Step, wait time.Duration) FailedStep {
	f.Step, f.Wait, f.Called = s, wait, false
	return f
}

// IsTransient reports whether the failure can end without a correction by users: AWS is not ready yet, the plan is made
// again from a new view, or a rate limiter of this process or of AWS postpones the call.
func (f FailedStep) IsTransient() bool {
	switch f.Class {
	case failure.InUse, failure.NotReady, failure.Gone, failure.Conflict, failure.Throttled, failure.Fenced:
		return true
	}
	return failure.PostponedFor(f.Err) > 0
}

func (f FailedStep) isKubernetesStep() bool { return plan.WritesToKubernetes(f.Step.Do) }
