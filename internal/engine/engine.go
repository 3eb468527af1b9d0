// Package engine runs the one line of Fulcrum, for every dialect alike: read, translate, observe,
// plan, apply, report. It owns fencing, panics caught per stack, and the mapping of failures to
// what happens next. It knows no client library.
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

// Frontend is one way of writing load balancers in Kubernetes.
type Frontend interface {
	// Stacks is which stacks an object belongs to, by what it is now and by the finalizers that
	// it still carries. Translation errors make no difference here.
	Stacks(v *cluster.View, obj cluster.Object) []model.StackID
	// Translate never fails: faults are findings. A stack without members is empty. live is nil at
	// first; where the stack comes out Contested, it is translated again with what is observed.
	Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List)
	// Withdrawn returns what is observed of a stack and what its members have no right to any more, whatever else they ask
	// for, and which questions have to be answered before that is known in full. It is asked where something live is
	// not as desired and stays.
	Withdrawn(v *cluster.View, id model.StackID, have observed.Stack) (model.Withdrawn, []model.Question)
	// Report is what to write back after a run. Of one that was cut short, no name is known and
	// nothing has changed.
	Report(v *cluster.View, o Outcome) []cluster.Patch
}

// Frontends are the frontends that a process serves.
type Frontends map[model.Kind]Frontend

// Stacks returns which stacks of all frontends an object belongs to, by kind.
func (f Frontends) Stacks(v *cluster.View, obj cluster.Object) (out []model.StackID) {
	for _, k := range slices.Sorted(maps.Keys(f)) {
		out = append(out, f[k].Stacks(v, obj)...)
	}
	return out
}

// Cloud is AWS. Apply never waits; a lost answer is found again by the next Observe.
type Cloud interface {
	// Observe reads what exists for a stack and answers questions.
	Observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error)
	// Apply carries one step out. Ids of things made by earlier steps are in known.
	Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.Result, error)
	// Class sorts an error of Observe or Apply.
	Class(err error) Class
}

// Cluster is Kubernetes.
type Cluster interface {
	// View returns a fresh view of the synced cache.
	View() *cluster.View
	// Bindings returns the TargetGroupBindings of a stack as observed things.
	Bindings(v *cluster.View, id model.StackID) []observed.Binding
	// Subscribe subscribes a view to them without reading them.
	Subscribe(v *cluster.View, id model.StackID)
	// Apply carries out finalizer and binding steps.
	Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.Result, error)
	// Write sends status patches and events; it skips what is already so.
	Write(ctx context.Context, patches []cluster.Patch) error
	// Class sorts an error of Apply or Write.
	Class(err error) Class
}

// Class is what kind of failure an error is and so what to do next.
type Class = failure.Class

// The classes.
const (
	Unknown   = failure.Unknown
	Throttled = failure.Throttled
	Denied    = failure.Denied
	Conflict  = failure.Conflict
	Quota     = failure.Quota
	Invalid   = failure.Invalid
	Gone      = failure.Gone
	InUse     = failure.InUse
	NotReady  = failure.NotReady
	Fenced    = failure.Fenced
)

// Outcome is the result of a run.
type Outcome struct {
	ID model.StackID
	// Read is the view of the run, which holds what it asked for up to its report.
	Read     *cluster.View
	Stack    model.Stack
	Findings finding.List
	Plan     plan.Plan
	// Have is what the plan was made from.
	Have observed.Stack
	// Document describes what the stack becomes, where that was asked for and is known.
	Document *document.Document
	// Done reports whether every step was carried out and nothing is waited for.
	Done bool
	// refused reports whether steps are held which AWS has refused. They are called again, which is then no
	// sign that others have changed something.
	refused bool
	// related reports that a load balancer is being handed over, or that another stack has it.
	related bool
	// Made are the steps that were carried out, over all plans of the run.
	Made map[plan.StepID]bool
	// Observations are how often the stack was read.
	Observations int
	// Changed reports whether at least one step was carried out.
	Changed bool
	// Deferred reports whether the stack's desired state is the one that was carried out before this process
	// began, and that its turn to be compared with AWS has not come. Nothing was done.
	Deferred bool
	// DNSNames of the load balancers that clients may use, lower case, by their ids in the stack.
	DNSNames map[string]string
	// Live are the load balancers in AWS, by their ids in the stack.
	Live map[string]Live
	// RetryAfter is when to look again; zero: only on a change.
	RetryAfter time.Duration
	// Idle reports that nothing is left to do, and RetryAfter is when the stack is compared with AWS
	// next.
	Idle bool
	// Drift is the drift that the run restores.
	Drift finding.List
	// Failed are steps that failed, with their errors as findings on those to blame.
	Failed []FailedStep
	// Err is set when the run as a whole failed (reading, or an unknown failure): back off. FailedIn is
	// then the phase in which it did.
	Err      error
	FailedIn Phase
}

// Live is a load balancer in AWS that clients may use.
type Live struct {
	ARN string
	// Active reports that AWS has made it.
	Active bool
}

// IsOver reports whether nothing is left of the stack and no object asks for it any more. What is held is there, and
// what its rights depend on triggers the next run.
func (o Outcome) IsOver() bool {
	held := o.Plan.Retains && (o.Stack.Held.Everything || len(o.Stack.Held.Members) > 0)
	return o.Stack.Empty() && !held && o.Done && o.Err == nil &&
		!slices.ContainsFunc(o.Stack.Leaving, func(m model.Member) bool { return m.Claimed })
}

// Phase is a part of a run.
type Phase string

// The phases, in their order.
const (
	Viewing   Phase = "view"
	Observing Phase = "observe"
	Planning  Phase = "plan"
	Applying  Phase = "apply"
	Reporting Phase = "report"
)

// FailedStep is a step and why it failed.
type FailedStep struct {
	Step  plan.Step
	Class Class
	Err   error
	// Row is how often in a row AWS has refused the step.
	Row int
	// Wait is for how long the step is not called again; 0 if the queue decides.
	Wait time.Duration
	// Called is set if the step was called in this run, and not only remembered.
	Called bool
	// Skipped is set if the step was never called, because others of its kind were refused: Err is then
	// the error of one of them.
	Skipped bool

	key stepKey
}

// asSkipped returns the failure as that of a step which is not called now.
func (f FailedStep) asSkipped(s plan.Step, wait time.Duration) FailedStep {
	f.Step, f.Wait, f.Called = s, wait, false
	return f
}

// Passes reports whether a failure needs no correction: AWS is not ready yet, the plan is made again
// from a new view, or a rate limiter of this process or of AWS puts the call off.
func (f FailedStep) Passes() bool {
	switch f.Class {
	case InUse, NotReady, Gone, Conflict, Throttled, Fenced:
		return true
	}
	return failure.PostponedFor(f.Err) > 0
}

func (f FailedStep) isKubernetes() bool { return plan.InKubernetes(f.Step.Do) }
