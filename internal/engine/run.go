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
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Config is what an Engine needs. Cloud, Cluster and at least one frontend are required.
type Config struct {
	Cloud     Cloud
	Cluster   Cluster
	Frontends Frontends
	Options   plan.Options
	// Fence is asked before every write; nil: Unfenced.
	Fence Fence
	// Recorder records what runs read and do; nil: NoRecorder.
	Recorder Recorder
	// Silence watches the calls to AWS. Nil: only a run that fails reports that AWS does not answer.
	Silence SilenceWatcher
	// Checkpoints defer the first look at stacks that did not change. Nil: all are looked at.
	Checkpoints Checkpoints
	// Secrets remember the client secrets that AWS was given. Nil: a change of one is carried out
	// only together with another change.
	Secrets Secrets
	// Resync is how often each stack is compared with AWS although nothing of it has changed; 10 h if
	// not above zero. Without a clock none is.
	Resync time.Duration
	// Drift is what happens to what others have changed of a stack that was as desired; empty: RepairDrift.
	Drift DriftMode
	// Clock measures the phases; nil means that they are not measured.
	Clock clock.PassiveClock
}

// Checkpoints remember the desired states that were carried out in full, as hashes. They decide when a
// stack is looked at and nothing else.
type Checkpoints interface {
	// Unchanged reports whether a stack with this desired state was carried out in full.
	Unchanged(id model.StackID, digest string) bool
	// Note remembers a desired state that was carried out in full; "" forgets the stack.
	Note(id model.StackID, digest string)
	// Forget forgets a stack before a run changes it in AWS. The channel is closed once a process that starts would not
	// find it any more, or this could not be stored; nil: there is nothing to wait for.
	Forget(id model.StackID) (written <-chan struct{})
}

// Secrets remember by marks which client secret each listener and rule of a stack was given last.
type Secrets interface {
	// SecretMark returns a mark, empty if none is known.
	SecretMark(id model.StackID, arn string) string
	// NoteSecretMark notes a mark.
	NoteSecretMark(id model.StackID, arn, mark string)
	// ForgetSecretMark forgets a mark before another client secret is given. The channel is as that of Checkpoints.Forget.
	ForgetSecretMark(id model.StackID, arn string) (written <-chan struct{})
	// RetainSecretMarks forgets the marks of a stack but those of these ARNs.
	RetainSecretMarks(id model.StackID, arns []string)
}

// Engine runs stacks. What it keeps from one run to the next is in its memories.
type Engine struct {
	Config
	memories memories
}

// New returns an engine.
func New(c Config) *Engine {
	if c.Resync <= 0 {
		c.Resync = durations.Resync
	}
	if c.Drift == "" {
		c.Drift = RepairDrift
	}
	if c.Fence == nil {
		c.Fence = Unfenced{}
	}
	if c.Recorder == nil {
		c.Recorder = NoRecorder{}
	}
	return &Engine{Config: c}
}

// Draft is a plan that was made and not carried out.
type Draft struct {
	Stack    model.Stack
	Have     observed.Stack
	Plan     plan.Plan
	Findings finding.List
	// Lacking reports whether a fault is in what AWS has or has not, which may change without anybody
	// telling.
	Lacking bool
	// Asked is the desired state before it was related to another stack, and Relation the relation to that one.
	Asked    model.Stack
	Relation handover.Relation

	options plan.Options // of the plan
	memory  plan.Memory
}

// Describe returns what the stack becomes; nil if that is not known.
func (d Draft) Describe() *document.Document {
	return planner.Describe(d.Stack, d.Have, d.options, d.memory)
}

// Again makes the plan again from what it was made of. The result is the same, however much later: a plan depends on
// nothing else.
func (d Draft) Again() plan.Plan {
	p, _ := planner.Make(d.Stack, d.Have, d.options, d.memory)
	return p
}

// Choices returns what the plan has chosen and how.
func (d Draft) Choices() resolved.Choices {
	return planner.Choose(d.Stack, d.Have, d.options, d.memory)
}

// errStopped ends a run whose process lost its right to write.
var errStopped = errors.New("another process may have taken over; nothing more is written")

// errSilent is the error of a run whose calls AWS has not answered yet.
var errSilent = errors.New("AWS does not answer")

// Draft makes the plan of a stack without carrying anything out.
func (e *Engine) Draft(ctx context.Context, id model.StackID) (Draft, error) {
	mem := e.memories.recall(id)
	r := observation{e: e, out: &Outcome{ID: id}, v: e.Cluster.View(), mem: &mem}
	stack, found, err := e.translate(r.v, id, nil)
	var by observed.Facts
	if err == nil {
		stack, found, by, err = r.resolveContested(ctx, stack, found)
	}
	if err != nil {
		return Draft{}, err
	}
	return r.draft(ctx, stack, found, by, plan.Memory{})
}

// Frontend returns the frontend of a kind of stack, nil if the kind is switched off.
func (e *Engine) frontend(id model.StackID) (Frontend, error) {
	f := e.Frontends[id.Kind]
	if f == nil {
		return nil, fmt.Errorf("no frontend for stacks of kind %s", id.Kind)
	}
	return f, nil
}

func (e *Engine) translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List, error) {
	return e.translateFor(v, id, id, live)
}

// translateFor translates a stack on behalf of a run, which may be one of another stack: its changes start that run again.
func (e *Engine) translateFor(v *cluster.View, run, id model.StackID, live *observed.Stack) (model.Stack, finding.List, error) {
	f, err := e.frontend(id)
	if err != nil {
		return model.Stack{}, nil, err
	}
	stack, found := f.Translate(v, id, live)
	e.Cluster.Subscribe(v, id) // the plan asks for bindings
	e.Recorder.Viewed(run, v)
	if err := v.Err(); err != nil {
		return model.Stack{}, nil, err
	}
	return stack, found, nil
}

// resolveContested decides what the members of a stack disagree on by what is live: it observes and translates
// again, until nothing more has to be compared. It returns by which facts it decided; none if nothing was
// contested.
func (r *observation) resolveContested(ctx context.Context, stack model.Stack, found finding.List) (_ model.Stack, _ finding.List, by observed.Facts, _ error) {
	if !stack.Contested {
		return stack, found, by, nil
	}
	questions := stack.Questions()
	for {
		have, err := r.observe(ctx, stack, questions)
		if err != nil {
			return stack, found, by, err
		}
		if stack, found, err = r.e.translate(r.v, stack.ID, &have); err != nil {
			return stack, found, by, err
		}
		var added bool
		if questions, added = addQuestions(questions, stack.Questions()); !added {
			return stack, found, have.Facts, nil
		}
	}
}

// mostObservations is how often a stack is observed in one run: for questions that come up on the way, after AWS
// reported that something is gone, and before a plan is made again. A run that needs more goes on in the next one.
const mostObservations = 8

// maxGone is how often a stack is observed in a row while AWS reports that something of it is gone.
const maxGone = 3

// planObservations is how many are left at least when a plan is made again: one for the plan, and two for its questions.
const planObservations = 3

// addQuestions adds questions that are new, and reports whether there are any.
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

// observe reads what is there, in AWS and in Kubernetes, with what this process remembers of it. Where something is gone
// that was there a moment ago, all of the stack is read again, so that the plan makes it; a run that does not come to an
// end so is tried again later.
func (r *observation) observe(ctx context.Context, stack model.Stack, questions []model.Question) (have observed.Stack, err error) {
	e, id, start := r.e, r.out.ID, r.e.now()
	defer func() { e.phase(id.Kind, Observing, start) }()
	questions = r.mem.comparison.Ask(questions)
	for n := 0; n < maxGone && r.out.Observations < mostObservations; n++ {
		r.out.Observations++
		have, err = r.observeAWS(ctx, stack, questions)
		if err == nil && r.relation == nil {
			have, err = r.decideRelation(ctx, stack, have, questions)
		}
		if err == nil {
			have = r.applyRelation(stack, have)
			have.Facts.Secrets = e.secretMarks(id, have)
			return have, nil
		}
		if e.Cloud.Class(err) != Gone {
			break
		}
	}
	if err == nil {
		err = fmt.Errorf("%d observations led to further questions; the run goes on later", mostObservations)
	}
	return have, fmt.Errorf("observe %s: %w", id, err)
}

// observeAWS reads what is there in AWS. Nothing else of the run uses its view or its memory meanwhile.
func (r *observation) observeAWS(ctx context.Context, stack model.Stack, questions []model.Question) (observed.Stack, error) {
	defer r.watch(ctx, stack)()
	if r.relation != nil {
		questions = r.relation.Ask(questions)
	}
	return r.e.Cloud.Observe(ctx, r.out.ID, questions)
}

// draft observes and plans until the plan asks nothing more. Where members disagreed and a fact
// was unavailable, so that the observed state did not decide between them, the fact stays unavailable for the plan, which
// holds what depends on it.
func (r *observation) draft(ctx context.Context, stack model.Stack, found finding.List, by observed.Facts, memory plan.Memory) (Draft, error) {
	e, options := r.e, r.e.Options
	questions := stack.Questions()
	if since := r.mem.listedSince(stack, e.now()); !since.IsZero() && !e.now().Before(since) {
		questions = append(questions, model.AskListings{Since: since})
	}
	d := Draft{Stack: stack, Asked: stack, options: options, memory: memory}
	for {
		have, err := r.observe(ctx, stack, questions)
		if err != nil {
			return d, err
		}
		have.Facts.KeepFaults(by)
		stack, reported := r.underRelation(stack, have)
		start := e.now()
		p, more := planner.Make(stack, have, options, memory)
		if options.StrictGroups && !stack.Held.Everything && slices.ContainsFunc(append(slices.Clone(found), more...), isError) {
			stack.Held.Everything = true
			p, _ = planner.Make(stack, have, options, memory)
		}
		var rights []model.Question
		if p.Retains {
			if rights, err = e.authorize(r.v, stack.ID, &have); err != nil {
				return d, err
			}
		}
		if !have.Facts.Withdrawn.Empty() {
			var without finding.List
			p, without = planner.Make(stack, have, options, memory)
			more = append(more, without...)
		}
		e.phase(stack.ID.Kind, Planning, start)
		d.Stack, d.Have, d.Plan, d.Relation = stack, have, p, *r.relation
		d.Findings, d.Lacking = slices.Concat(found, more, reported).Sorted(), slices.ContainsFunc(more, isError)
		var added bool
		if questions, added = addQuestions(questions, append(p.Asks, rights...)); !added {
			r.holdUnlessAdmitted(&d)
			if r.relation.Waits(d.Stack) {
				d.Plan.Waiting = append(d.Plan.Waiting, otherStack)
			}
			e.Recorder.Planned(d)
			return d, r.v.Err()
		}
	}
}

// authorize adds to what is observed what of it members have no right to any more. It returns what else has to be known
// for that.
func (e *Engine) authorize(v *cluster.View, id model.StackID, have *observed.Stack) ([]model.Question, error) {
	f, err := e.frontend(id)
	if err != nil {
		return nil, err
	}
	withdrawn, questions := f.Withdrawn(v, id, *have)
	e.Recorder.Viewed(id, v)
	have.Facts.Withdrawn = &withdrawn
	return questions, v.Err()
}

func isError(f finding.Finding) bool { return f.Severity == finding.Error }

// Reconcile brings one stack to its desired state, as far as this is possible now. The error is that
// of the run as a whole; faults of users and of single steps are in the outcome.
func (e *Engine) Reconcile(ctx context.Context, id model.StackID) (out Outcome, err error) {
	out.ID = id
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reconcile %s: panic: %v\n%s", id, p, debug.Stack())
			out.Err = err
		}
	}()
	if !e.memories.reserve(id) {
		out.RetryAfter = durations.Moment // a run hands its load balancer over
		return out, nil
	}
	reserved := []model.StackID{id}
	defer func() { e.memories.release(reserved) }()
	start := e.now()
	e.memories.begin(start)
	mem := e.memories.recall(id)
	v := e.Cluster.View()
	stack, found, err := e.translate(v, id, nil)
	out.Read = v
	e.phase(id.Kind, Viewing, start)
	if err != nil {
		return e.failed(out, Viewing, err)
	}
	desired := desiredDigest(stack, found)
	digest := e.digest(v, stack, desired)
	if d := mem.comparison.Deferral(desired, e.deferral(stack, digest), start); d > 0 {
		e.memories.store(id, mem)
		out.Stack, out.Findings, out.Deferred, out.RetryAfter = stack, found.Sorted(), true, d
		return out, nil
	}
	again, _ := mem.repeats.due(start)
	edited, delay := mem.comparison.Begin(stack, desired, again, e.Resync, start)
	if edited {
		mem.drift.setLeft(nil)
	}
	mem.refused.begin(start)
	e.memories.store(id, mem)
	defer func() { e.storeMemory(out, mem) }()
	reported := false
	defer func() { e.noteConverged(out, reported, found, digest) }()
	run := run{execution: execution{
		observation: observation{e: e, out: &out, v: v, mem: &mem, reserved: &reserved}, changing: changing{digest: digest},
	}, edited: edited, delay: delay}
	if edited {
		run.forget() // stored while the run reads, so that the edit does not wait for it
	}
	stack, found, err = run.resolveAndConverge(ctx, stack, found)
	if errors.Is(err, errReserved) {
		out.Stack, out.Findings, out.RetryAfter = stack, found.Sorted(), durations.Moment
		return out, nil
	}
	if err != nil {
		out.Stack, out.Findings = stack, append(found, out.Findings...)
		out.Findings.Add(run.reportRunFailure(stack, err, start)...)
		out.Findings = out.Findings.Sorted()
		out, err = e.failed(out, out.FailedIn, err)
		reported := out
		reported.DNSNames, reported.Live, reported.Changed = nil, nil, false // a run that was cut short shows only what is wrong
		return out, errors.Join(err, e.report(ctx, v, reported))
	}
	out.Findings = slices.Concat(out.Findings, run.reportUnanswered(), run.reportDelayed()).Sorted()
	start = e.now()
	err = e.report(ctx, v, out)
	e.phase(id.Kind, Reporting, start)
	switch turn := failure.Turn(err); {
	case turn > 0: // a write that others undo waits for its turn, and nothing else does
		run.requeueAfter(turn)
	case err != nil:
		return e.failed(out, Reporting, err)
	default:
		reported = true
	}
	run.resync(start)
	return out, nil
}

// storeMemory keeps the memory that a run leaves, and forgets a stack of which nothing is left.
func (e *Engine) storeMemory(out Outcome, mem memory) {
	if out.IsOver() {
		e.memories.forget(out.ID)
		return
	}
	mem.finished = out.Err == nil && out.Done
	e.memories.store(out.ID, mem)
}

// reportRunFailure reports a run that failed as a whole to its members, unless it only waits for its turn or
// this process is to stop.
func (r *observation) reportRunFailure(stack model.Stack, err error, start time.Time) finding.List {
	class := r.e.Cloud.Class(err)
	if class == Gone {
		class = Unknown // all was read again, and AWS still contradicts itself
	}
	switch {
	case class != Unknown && class != Denied && class != Invalid && class != Quota, failure.Turn(err) > 0,
		errors.Is(err, errStopped), errors.Is(err, context.Canceled):
		return nil
	}
	if failure.NoAnswer(err) {
		return r.silence(stack, start)
	}
	var out finding.List
	for _, m := range append(slices.Clone(stack.Members), stack.Leaving...) {
		f := FailedStep{Step: plan.Step{Blames: []finding.Ref{m.Ref}}, Class: class, Err: err}
		reason, fix := reasonAndFix(f)
		out.Add(finding.Finding{Object: m.Ref, Reason: reason, Severity: finding.Error, Message: failure.Plainly(err), Fix: fix})
	}
	return out
}

func (e *Engine) failed(out Outcome, in Phase, err error) (Outcome, error) {
	out.Err, out.FailedIn = err, in
	switch e.Cloud.Class(err) {
	case InUse, NotReady:
		out.RetryAfter = durations.Soon
	default:
		out.RetryAfter = failure.Turn(err)
	}
	return out, err
}

func (e *Engine) report(ctx context.Context, v *cluster.View, out Outcome) error {
	f, err := e.frontend(out.ID)
	if err != nil {
		return err
	}
	patches := f.Report(v, out)
	if len(patches) > 0 {
		if err := e.fence(); err != nil {
			return err
		}
	}
	if err := e.Cluster.Write(ctx, append(patches, cluster.Lasting{Of: out.ID.String()})); err != nil {
		return fmt.Errorf("report %s: %w", out.ID, err)
	}
	return nil
}

func (e *Engine) fence() error {
	if err := e.Fence.Fence(); err != nil {
		return errors.Join(errStopped, err)
	}
	return nil
}

func (e *Engine) now() time.Time {
	if e.Clock == nil {
		return time.Time{}
	}
	return e.Clock.Now()
}

func (e *Engine) phase(kind model.Kind, phase Phase, start time.Time) {
	if e.Clock != nil {
		e.Recorder.Phase(kind, string(phase), e.Clock.Now().Sub(start))
	}
}
