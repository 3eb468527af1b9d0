package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Config has the dependencies and settings of an Engine. Cloud, Cluster and at least one frontend are required.
type Config struct {
	Cloud     Cloud
	Cluster   Cluster
	Frontends Frontends
	Options   plan.Options
	// Fence is checked before every write; nil: NoFence.
	Fence Fence
	// Recorder records the reads and steps of runs; nil: NoRecorder.
	Recorder Recorder
	// UnansweredCalls watches for calls that AWS does not answer; nil: only a run that has failed reports them.
	UnansweredCalls UnansweredCallWatcher
	// Checkpoints defer the first comparison of stacks that did not change; nil: all stacks are compared at the start.
	Checkpoints Checkpoints
	// Secrets stores hashes of the OIDC client secrets that were written to AWS, because AWS never returns a client secret;
	// nil: a changed client secret is only written together with another change.
	Secrets Secrets
	// Resync is the period in which each unchanged stack is compared with AWS; 10 h if it is zero or negative. Without a
	// Clock there are no such comparisons.
	Resync time.Duration
	// Drift decides whether drift is corrected; empty: RepairDrift.
	Drift DriftMode
	// Clock is used for back-offs, waits, comparisons and measured phases. If it is nil, none of these are used, for example
	// in a command that only makes one plan.
	Clock clock.PassiveClock
}

// Checkpoints stores, as hashes, the desired states that were carried out completely. Checkpoints only decide when a stack
// is compared with AWS.
type Checkpoints interface {
	// IsUnchanged reports whether this desired state of the stack was carried out completely.
	IsUnchanged(id model.StackID, digest string) bool
	// SetDigest stores the digest of a desired state that was carried out completely; "" removes the checkpoint of the stack.
	SetDigest(id model.StackID, digest string)
	// Forget removes the checkpoint of a stack before a run changes the stack in AWS. The channel is closed when the write
	// of the removal has succeeded or failed. It is nil if the caller does not have to wait.
	Forget(id model.StackID) (written <-chan struct{})
}

// Engine reconciles stacks. It stores the memory of each stack between runs.
type Engine struct {
	Config
	memories memories
}

// New returns an Engine, with the defaults for the optional fields of c.
func New(c Config) *Engine {
	if c.Resync <= 0 {
		c.Resync = durations.Resync
	}
	if c.Drift == "" {
		c.Drift = RepairDrift
	}
	if c.Fence == nil {
		c.Fence = NoFence{}
	}
	if c.Recorder == nil {
		c.Recorder = NoRecorder{}
	}
	return &Engine{Config: c}
}

// Draft is a plan that is not carried out yet, with the state that it was made from.
type Draft struct {
	Stack    model.Stack
	Have     observed.Stack
	Plan     plan.Plan
	Findings finding.List
	// MissingInAWS reports whether the plan has an error because of the state of AWS, such as a missing certificate, or
	// whether an accelerator has an endpoint whose load balancer does not exist or failed. No Kubernetes event reports a
	// change of that state, so the stack runs again later.
	MissingInAWS bool
	// TranslatedStack is the desired state before it was adapted to another stack that uses the same load balancer.
	TranslatedStack model.Stack

	options plan.Options // the options that the plan was made with
	memory  plan.Memory
}

// Describe returns a document of the resources that the stack has after the plan is carried out; nil if they are not known.
func (d Draft) Describe() *document.Document {
	return planner.Describe(d.Stack, d.Have, d.options, d.memory)
}

// Replan makes the plan again from the same inputs. The result is equal to the first plan, because a plan depends only on
// its inputs.
func (d Draft) Replan() plan.Plan {
	p, _ := planner.Make(d.Stack, d.Have, d.options, d.memory)
	return p
}

// Choices returns the choices of the plan, such as subnets and priorities, with their reasons.
func (d Draft) Choices() resolved.Choices {
	return planner.Choose(d.Stack, d.Have, d.options, d.memory)
}

// errFenced is the error of a run that ends because the fence does not permit a write.
var errFenced = errors.New("another process may hold the lease; this process writes nothing more")

// errUnanswered is the error of a run whose calls AWS has not answered yet.
var errUnanswered = errors.New("AWS does not answer")

// DraftPlan observes a stack and makes its plan, without carrying out any step.
func (e *Engine) DraftPlan(ctx context.Context, id model.StackID) (Draft, error) {
	mem := e.memories.memoryOf(id)
	r := observation{e: e, out: &Outcome{ID: id}, view: e.Cluster.View(), mem: &mem}
	stack, found, err := e.translate(r.view, id, nil)
	var by observed.Facts
	if err == nil {
		stack, found, by, err = r.resolveContestedSettings(ctx, stack, found)
	}
	if err != nil {
		return Draft{}, err
	}
	return r.draftPlan(ctx, stack, found, by, plan.Memory{})
}

// frontend returns the frontend for the kind of a stack, or an error if no frontend is enabled for that kind.
func (e *Engine) frontend(id model.StackID) (Frontend, error) {
	f := e.Frontends[id.Kind]
	if f == nil {
		return nil, fmt.Errorf("no frontend for stacks of kind %s", id.Kind)
	}
	return f, nil
}

// translate returns the desired state of a stack, and findings about its objects. live is the observed state, which decides
// contested settings; it is nil at first.
func (e *Engine) translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List, error) {
	return e.translateFor(v, id, id, live)
}

// translateFor is translate for a stack (id) that is read in a run of the same or another stack (run). Later changes of the
// objects that were read enqueue the stack run.
func (e *Engine) translateFor(v *cluster.View, run, id model.StackID, live *observed.Stack) (model.Stack, finding.List, error) {
	f, err := e.frontend(id)
	if err != nil {
		return model.Stack{}, nil, err
	}
	stack, found := f.Translate(v, id, live)
	e.Cluster.Subscribe(v, id) // the plan depends on the bindings
	e.Recorder.RecordView(run, v)
	if err := v.Err(); err != nil {
		return model.Stack{}, nil, err
	}
	return stack, found, nil
}

// resolveContestedSettings decides contested settings of a stack with the observed state, for example settings on which its
// members disagree. It observes and translates again until the translation has no new questions. by has the facts that
// decided the settings; it is empty if no setting is contested.
func (r *observation) resolveContestedSettings(ctx context.Context, stack model.Stack, found finding.List) (_ model.Stack, _ finding.List, by observed.Facts, _ error) {
	if !stack.Contested {
		return stack, found, by, nil
	}
	questions := stack.Questions()
	for {
		have, err := r.observe(ctx, stack, questions)
		if err != nil {
			return stack, found, by, err
		}
		if stack, found, err = r.e.translate(r.view, stack.ID, &have); err != nil {
			return stack, found, by, err
		}
		var added bool
		if questions, added = addQuestions(questions, stack.Questions()); !added {
			return stack, found, have.Facts, nil
		}
	}
}

// maxObservations is the maximum number of times that a stack is observed in one run. A run observes again for new
// questions, after AWS reported that a resource does not exist, and before it makes another plan. When the maximum is
// reached, the run ends, and the next run continues.
const maxObservations = 8

// maxGoneObservations is the maximum number of observations in a row for which AWS reports that a resource does not exist.
const maxGoneObservations = 3

// observationsPerPlan is how many observations must remain in a run for another plan: one for the plan, and two for its
// questions.
const observationsPerPlan = 3

// addQuestions appends the elements of more that questions lacks, and reports whether there were any.
func addQuestions(questions, more []model.Question) (out []model.Question, added bool) {
	asked := map[string]bool{}
	for _, q := range questions {
		asked[q.Key()] = true
	}
	for _, q := range more {
		if key := q.Key(); !asked[key] {
			asked[key] = true
			questions, added = append(questions, q), true
		}
	}
	return questions, added
}

// observe reads the observed state of a stack from AWS and Kubernetes. If AWS reports that a resource of the stack does not
// exist any more, it reads the whole stack again. If AWS reports this maxGoneObservations times in a row, observe returns an
// error, and the run is repeated later.
func (r *observation) observe(ctx context.Context, stack model.Stack, questions []model.Question) (have observed.Stack, err error) {
	e, id, start := r.e, r.out.ID, r.e.now()
	defer func() { e.recordPhase(id.Kind, ObservePhase, start) }()
	questions = r.mem.comparison.WithReadBound(questions)
	for n := 0; n < maxGoneObservations && r.out.Observations < maxObservations; n++ {
		r.out.Observations++
		have, err = r.observeAWS(ctx, stack, questions)
		if err == nil && r.relation == nil {
			have, err = r.decideStackRelation(ctx, stack, have, questions)
		}
		if err == nil {
			have = r.applyStackRelation(stack, have)
			have.Facts.SecretHashes = e.secretHashes(id, have)
			return have, nil
		}
		if e.Cloud.Class(err) != failure.Gone {
			break
		}
	}
	if err == nil {
		err = fmt.Errorf("AWS was read %d times in this run, and further reads are needed; a later run continues", maxObservations)
	}
	return have, fmt.Errorf("observe %s: %w", id, err)
}

// observeAWS reads the observed state from AWS. Until it returns, the goroutine that reports unanswered calls may use the
// view and memory of the run.
func (r *observation) observeAWS(ctx context.Context, stack model.Stack, questions []model.Question) (observed.Stack, error) {
	defer r.watchUnansweredCalls(ctx, stack)()
	if r.relation != nil {
		questions = r.relation.Questions(questions)
	}
	return r.e.Cloud.Observe(ctx, r.out.ID, questions)
}

// draftPlan observes the stack and makes its plan, until the plan has no new questions. by has the facts that decided
// contested settings. A fact that was unavailable in by is also unavailable for the plan, and the plan holds the parts of
// the stack that depend on it.
func (r *observation) draftPlan(ctx context.Context, stack model.Stack, found finding.List, by observed.Facts, memory plan.Memory) (Draft, error) {
	e, options := r.e, r.e.Options
	questions := stack.Questions()
	if since := r.mem.requiredListingTime(stack, e.now()); !since.IsZero() && !e.now().Before(since) {
		questions = append(questions, model.AskListings{Since: since})
	}
	d := Draft{Stack: stack, TranslatedStack: stack, options: options, memory: memory}
	for {
		have, err := r.observe(ctx, stack, questions)
		if err != nil {
			return d, err
		}
		have.Facts.CopyFaults(by)
		stack, ofRelation := r.withStackRelation(stack, have)
		start := e.now()
		p, more := planner.Make(stack, have, options, memory)
		if options.StrictGroups && !stack.Held.AllResources && found.CountErrors()+more.CountErrors() > 0 {
			stack.Held.AllResources = true
			p, _ = planner.Make(stack, have, options, memory)
		}
		var rights []model.Question
		if p.HasRetainedParts {
			if rights, err = e.addWithdrawnParts(r.view, stack.ID, &have); err != nil {
				return d, err
			}
		}
		if !have.Facts.Withdrawn.IsEmpty() {
			var without finding.List
			p, without = planner.Make(stack, have, options, memory)
			more = append(more, without...)
		}
		e.recordPhase(stack.ID.Kind, PlanPhase, start)
		d.Stack, d.Have, d.Plan = stack, have, p
		d.Findings = slices.Concat(found, more, ofRelation).Sorted()
		d.MissingInAWS = more.CountErrors() > 0 || stack.Accelerator != nil && stack.Accelerator.LoadBalancerMissing
		var added bool
		if questions, added = addQuestions(questions, append(p.Questions, rights...)); !added {
			r.holdUnlessTakeOverPermitted(&d)
			if r.relation.IsWaitingForOther(d.Stack) {
				d.Plan.WaitKeys = append(d.Plan.WaitKeys, otherStackKey)
			}
			e.Recorder.RecordPlan(d)
			return d, r.view.Err()
		}
	}
}

// addWithdrawnParts stores in the observed facts the parts of the stack that its members are not permitted to use any more.
// It returns the questions to AWS that must be answered to find all of these parts.
func (e *Engine) addWithdrawnParts(v *cluster.View, id model.StackID, have *observed.Stack) ([]model.Question, error) {
	f, err := e.frontend(id)
	if err != nil {
		return nil, err
	}
	withdrawn, questions := f.WithdrawnResources(v, id, *have)
	e.Recorder.RecordView(id, v)
	have.Facts.Withdrawn = &withdrawn
	return questions, v.Err()
}

// Reconcile changes AWS to the desired state of one stack, as far as this is possible now. Configuration errors of users and
// errors of single steps are in the outcome. err is not nil only if the whole run failed.
func (e *Engine) Reconcile(ctx context.Context, id model.StackID) (out Outcome, err error) {
	out.ID = id
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reconcile %s: panic: %v\n%s", id, p, debug.Stack())
			out.Err, out.RetryAfter = err, 0
		}
	}()
	if !e.memories.reserve(id) {
		out.RetryAfter = durations.ShortestInterval // a run of another stack is taking over its load balancer
		return out, nil
	}
	reserved := []model.StackID{id}
	defer func() { e.memories.release(reserved) }()
	start := e.now()
	e.memories.recordFirstRun(start)
	mem := e.memories.memoryOf(id)
	v := e.Cluster.View()
	stack, found, err := e.translate(v, id, nil)
	out.View = v
	e.recordPhase(id.Kind, ViewPhase, start)
	if err != nil {
		return e.failRun(out, ViewPhase, err)
	}
	desired := desiredDigest(stack, found)
	digest := e.inputDigest(v, stack, desired)
	if d := mem.comparison.RemainingDeferral(desired, e.firstComparisonDelay(stack, digest), start); d > 0 {
		e.memories.store(id, mem)
		out.Stack, out.Findings, out.Deferred, out.RetryAfter = stack, found.Sorted(), true, d
		return out, nil
	}
	again, _ := mem.repeats.comparisonDue(start)
	edited, delay := mem.comparison.BeginRun(stack, desired, again, e.Resync, start)
	if edited {
		mem.drift.setUncorrectedSteps(nil)
	}
	mem.stepRefusals.beginRun(start)
	e.memories.store(id, mem)
	defer func() { e.storeMemory(out, mem) }()
	reported := false
	defer func() { e.recordConverged(out, reported, found, digest) }()
	observed := observation{e: e, out: &out, view: v, mem: &mem, reservedStacks: &reserved}
	run := run{execution: execution{observation: observed}, wasEdited: edited, editDelay: delay}
	if edited {
		run.forgetCheckpoints() // begins to remove the checkpoint from the store while the run reads from AWS
	}
	stack, found, err = run.resolveAndConverge(ctx, stack, found)
	if errors.Is(err, errReserved) {
		out.Stack, out.Findings, out.RetryAfter = stack, found.Sorted(), durations.ShortestInterval
		return out, nil
	}
	if err != nil {
		out.Stack, out.Findings = stack, append(found, out.Findings...)
		out.Findings.Add(run.runFailureFindings(stack, err, start)...)
		out.Findings = out.Findings.Sorted()
		out, err = e.failRun(out, out.FailedPhase, err)
		faultsOnly := out // after a run that failed as a whole, the status shows only the errors
		faultsOnly.DNSNames, faultsOnly.LiveLoadBalancers, faultsOnly.Changed = nil, nil, false
		return out, errors.Join(err, e.report(ctx, v, faultsOnly))
	}
	out.Findings = slices.Concat(out.Findings, run.unansweredStepFindings(), run.delayedEditFindings()).Sorted()
	start = e.now()
	err = e.report(ctx, v, out)
	e.recordPhase(id.Kind, ReportPhase, start)
	switch postponed := failure.PostponedFor(err); {
	case postponed > 0: // the run succeeded; a status that an external actor repeatedly overwrites is written later
		run.requeueAfter(postponed)
	case err != nil:
		out.Err, out.FailedPhase = err, ReportPhase // RetryAfter is not changed, so that waiting steps are not delayed
		return out, err
	default:
		reported = true
	}
	run.scheduleComparison(start)
	return out, nil
}

// storeMemory stores the memory of a stack after a run, or removes it if no resource of the stack is left.
func (e *Engine) storeMemory(out Outcome, mem memory) {
	if out.IsStackDeleted() {
		e.memories.forget(out.ID)
		return
	}
	mem.lastRunFinished = out.Err == nil && out.Done
	e.memories.store(out.ID, mem)
}

// runFailureFindings returns findings on the members of a stack about the error of a run that failed as a whole. It returns
// none if a call was postponed, the fence refused a write, or this process is stopping.
func (r *observation) runFailureFindings(stack model.Stack, err error, start time.Time) finding.List {
	class := r.e.Cloud.Class(err)
	if class == failure.Gone {
		class = failure.Unknown // all of the stack was read again, and the answers of AWS still contradict each other
	}
	switch {
	case class != failure.Unknown && class != failure.Denied && class != failure.Invalid && class != failure.Quota, failure.PostponedFor(err) > 0,
		errors.Is(err, errFenced), errors.Is(err, context.Canceled):
		return nil
	}
	if failure.IsUnanswered(err) {
		return r.unansweredRunFindings(stack, start)
	}
	var out finding.List
	for _, m := range append(slices.Clone(stack.Members), stack.Leaving...) {
		f := FailedStep{Step: plan.Step{RequestedBy: []finding.Ref{m.Ref}}, Class: class, Err: err}
		reason, fix := reasonAndFix(f)
		out.Add(finding.Finding{Object: m.Ref, Reason: reason, Severity: finding.Error, Message: failure.WithoutSDKText(err), Fix: fix})
	}
	return out
}

// failRun records in out the error that ends a run and the phase in which it occurred, and returns out and the error.
func (e *Engine) failRun(out Outcome, in Phase, err error) (Outcome, error) {
	out.Err, out.FailedPhase = err, in
	switch e.Cloud.Class(err) {
	case failure.InUse, failure.NotReady:
		out.RetryAfter = durations.RecheckInterval
	default:
		out.RetryAfter = failure.PostponedFor(err)
	}
	return out, err
}

// report writes the status and events that result from a run.
func (e *Engine) report(ctx context.Context, v *cluster.View, out Outcome) error {
	f, err := e.frontend(out.ID)
	if err != nil {
		return err
	}
	patches := f.Report(v, out)
	if len(patches) > 0 {
		if err := e.checkFence(); err != nil {
			return err
		}
	}
	if err := e.Cluster.Write(ctx, append(patches, cluster.LastingWarnings{Subject: out.ID.String()})); err != nil {
		return fmt.Errorf("report %s: %w", out.ID, err)
	}
	return nil
}

// checkFence returns an error if this process must not write any more.
func (e *Engine) checkFence() error {
	if err := e.Fence.CheckFence(); err != nil {
		return errors.Join(errFenced, err)
	}
	return nil
}

// now returns the current time; zero without a clock.
func (e *Engine) now() time.Time {
	if e.Clock == nil {
		return time.Time{}
	}
	return e.Clock.Now()
}

// recordPhase records the duration of a phase, unless there is no clock.
func (e *Engine) recordPhase(kind model.Kind, phase Phase, start time.Time) {
	if e.Clock != nil {
		e.Recorder.RecordPhase(kind, string(phase), e.Clock.Now().Sub(start))
	}
}
