package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// run is one reconcile.
type run struct {
	execution
	held []FailedStep // refused steps that the plan goes on without

	// quiet reports whether the stack was as desired before the run, and is compared because of what others
	// may have changed.
	quiet bool
	// left are steps that are reported and not carried out, leftFindings what is said about them.
	left         map[plan.StepID]bool
	leftFindings finding.List
	// driftOfGroup reports that findings about drift say which rules others have added to a security group.
	driftOfGroup bool

	// edited reports whether the desired state is another one than in the run before.
	edited bool
	// delay is for how long the desired state is not carried out, because it changes all the time.
	delay time.Duration
	// again are steps that were made before, delayed those that were made so often that they are not made now, reported those
	// that findings name, with those that come after them.
	again, delayed, reported map[plan.StepID]bool
}

// observation reads the cluster and AWS for a run, and plans from what it has read.
type observation struct {
	e   *Engine
	out *Outcome
	v   *cluster.View
	mem *memory
	// relation is the relation of the stack to another one, nil before it is observed; reserved are the stacks that no
	// other run works on meanwhile, nil where nothing is carried out.
	relation *handover.Relation
	reserved *[]model.StackID
	// hindered reports that something is missing for which a load balancer that is taken over stays as it is.
	hindered bool
}

// execution carries out steps, and enters their results in the outcome.
type execution struct {
	observation
	changing changing
}

// resolveAndConverge decides what is contested by what is live, and converges.
func (r *run) resolveAndConverge(ctx context.Context, stack model.Stack, found finding.List) (model.Stack, finding.List, error) {
	for {
		resolved, all, by, err := r.resolveContested(ctx, stack, found)
		if err != nil {
			r.out.FailedIn = Observing
			return resolved, all, err
		}
		if err = r.converge(ctx, resolved, all, by); !errors.Is(err, errUncompared) {
			return resolved, all, err
		}
		r.quiet = true
	}
}

// converge drafts and applies. What AWS refuses is held, and the rest goes on without it. Where the
// plan turns out to come from an old view, it is made again.
func (r *run) converge(ctx context.Context, stack model.Stack, found finding.List, by observed.Facts) error {
	stack = r.holdKnown(stack)
	r.hindered = slices.ContainsFunc(r.held, FailedStep.hindersTakeOver)
	waiting := slices.Collect(maps.Keys(r.mem.waits)) // of the last plan; before the first, what is remembered
	defer func() { r.mem.waits = r.mem.waits.onlyKeys(waiting) }()
	for n := 0; ; n++ {
		d, err := r.draft(ctx, stack, found, by, r.mem.planMemory(r.e.now(), r.e.Options.Propagation, r.e.memories.importsPaused(stack, r.e.now())))
		if err != nil {
			r.out.FailedIn = Observing
			return err
		}
		waiting = d.Plan.Waiting
		r.mem.waits = r.mem.waits.withKeys(waiting, r.e.now())
		r.findRepeats(d, stack)
		if n == 0 && !r.leavesAllSteps(d.Plan) && r.mem.comparison.Lacks(d.Plan, r.e.now()) {
			return errUncompared
		}
		if n == 0 {
			r.drifted(d)
			r.mem.drift.compared = d.Have.Facts.Now
		}
		r.out.Stack, r.out.Plan, r.out.Have, r.out.related = d.Stack, d.Plan, d.Have, r.relation.DependsOnOther(d.Have)
		if d.Stack.Describe {
			r.out.Document = d.Describe()
		}
		r.out.Findings = append(r.withoutReported(d.Findings), r.leftFindings...).Sorted()
		if d.Stack.DryRun {
			waiting = nil // nothing is under way: what is carried out later has its whole time
			r.out.Done = true
			return nil
		}
		for _, a := range d.Plan.LoadBalancers {
			r.noteLive(a, serving(d, a))
		}
		r.out.Failed, r.out.RetryAfter = nil, 0
		start := r.e.now()
		r.noteSecrets(d)
		r.forgetSecrets(d.Plan)
		err = r.apply(ctx, d.Plan, stack)
		r.e.phase(stack.ID.Kind, Applying, start)
		if err != nil {
			r.out.FailedIn = Applying
			return err
		}
		if r.out.Done && stack.Empty() {
			r.mem.refused = refusals{}
			if r.e.Secrets != nil {
				r.e.Secrets.RetainSecretMarks(r.out.ID, nil)
			}
		}
		next, again := r.replan(stack)
		if !again || r.out.Observations+planObservations > mostObservations {
			if d.Plan.Again > 0 {
				r.requeueAfter(d.Plan.Again)
			}
			if r.relation.Waits(d.Stack) {
				r.out.Done = false
				r.requeueAfter(r.mem.waits.pollOtherStack(r.e.now()))
			}
			r.conclude(d.Lacking)
			return nil
		}
		stack = r.holdKnown(next) // a refusal may have used up the budget of others
		r.hindered = slices.ContainsFunc(r.held, FailedStep.hindersTakeOver)
	}
}

// replan decides whether the plan is to be made again after its steps failed, and for which stack.
func (r *run) replan(stack model.Stack) (next model.Stack, again bool) {
	h := &holding{stack: stack}
	for _, f := range r.out.Failed {
		switch {
		case (f.Class == Gone || f.Class == Conflict) && f.Called:
			again = true
		case f.held():
			if h.hold(f) {
				r.held = append(r.held, f)
				again = true
			}
		}
	}
	return h.stack, again
}

// holdKnown holds what AWS has refused in earlier runs and is not to be called yet, so that the plan is
// made without it from the start.
func (r *run) holdKnown(stack model.Stack) model.Stack {
	h := &holding{stack: stack}
	for range mostObservations {
		changed := false
		for _, f := range r.mem.refused.pending(h.stack, r.e.now()) {
			if f.held() && h.hold(f) {
				changed = true
				r.held = append(r.held, f)
			}
		}
		if !changed {
			break
		}
	}
	return h.stack
}

// serving returns the live load balancer at an address: the one that the plan keeps, or else the one whose place will
// be taken; nil if there is none.
func serving(d Draft, a plan.Address) *observed.LoadBalancer {
	live := plan.Serving(d.Have, a.ID)
	for i := range d.Have.LoadBalancers {
		if d.Have.LoadBalancers[i].ARN == cmp.Or(d.Plan.Shown[a], d.Plan.Known[a]) {
			live = &d.Have.LoadBalancers[i]
		}
	}
	return live
}

// noteLive notes a live load balancer.
func (r *execution) noteLive(a plan.Address, lb *observed.LoadBalancer) {
	if lb == nil {
		return
	}
	r.name(a, lb.DNSName)
	r.live(a, Live{ARN: lb.ARN, Active: lb.State == "active" || lb.State == "active_impaired"})
}

func (r *execution) live(a plan.Address, lb Live) {
	if r.out.Live == nil {
		r.out.Live = map[string]Live{}
	}
	r.out.Live[a.ID] = lb
}

// apply carries out the steps of a plan that have nothing to wait for. A failed step stops those
// that need it and no others.
func (r *run) apply(ctx context.Context, p plan.Plan, stack model.Stack) error {
	known := maps.Clone(p.Known)
	done := p.Begin()
	if r.out.Made == nil {
		r.out.Made = map[plan.StepID]bool{}
	}
	again := time.Duration(0) // 0: nothing waits
	wait := func(due time.Duration) {
		if again == 0 || due < again {
			again = due
		}
	}
	if r.delay > 0 {
		wait(r.delay)
	}
	trial := r.trialSteps(p, stack)
	var late []plan.Step // that prepare what AWS has taken now
	for _, s := range p.Steps {
		if r.left[s.ID] || r.delayed[s.ID] {
			continue
		}
		if trial[s.ID] {
			late = append(late, s)
			done.Done(s.ID)
			continue
		}
		if s.Waits() {
			if !r.anyFailed(s.After) { // else the back-off of what failed decides
				wait(cmp.Or(s.Wait.Again, durations.FirstPoll))
			}
			continue
		}
		if d := r.mem.releaseWait(r.out.Stack, s.Do, r.e.now()); d > 0 {
			wait(d)
			continue
		}
		if s = withoutDelayed(p, s, r.delayed); !done.Ready(s) || r.freesNeededCapacity(s) {
			continue
		}
		carried, err := r.carryOut(ctx, p, s, stack, known)
		if err != nil {
			return err
		}
		if carried {
			done.Done(s.ID)
			r.out.Made[s.ID] = true
		}
	}
	for _, s := range late {
		if !done.Ready(s) || !slices.ContainsFunc(p.Steps, func(o plan.Step) bool { return r.out.Made[o.ID] && slices.Contains(o.After, s.ID) }) {
			continue
		}
		carried, err := r.carryOut(ctx, p, s, stack, known)
		if err != nil {
			return err
		}
		if carried {
			r.out.Made[s.ID] = true
		}
	}
	r.out.RetryAfter = again
	r.out.Done = again == 0 && p.Again == 0 && len(r.out.Failed) == 0 && !(stack.Empty() && len(r.delayed) > 0)
	return nil
}

// freesNeededCapacity reports whether a step deletes a rule although AWS has no room for others of this plan. The next
// plan gives the place to a rule of the same namespace, before anybody else can have it.
func (r *run) freesNeededCapacity(s plan.Step) bool {
	_, deletes := s.Do.(plan.DeleteRule)
	return deletes && slices.ContainsFunc(r.out.Failed, func(f FailedStep) bool {
		do, _ := f.Step.Do.(plan.CreateRule)
		return f.lacksCapacity() && !do.Rule.NoRoom
	})
}

// anyFailed reports whether one of the steps failed, or was skipped because it did.
func (r *run) anyFailed(steps []plan.StepID) bool {
	return slices.ContainsFunc(r.out.Failed, func(f FailedStep) bool { return slices.Contains(steps, f.Step.ID) })
}

// carryOut calls a step if it is due, and reports whether it was carried out. The error ends the run.
func (r *run) carryOut(ctx context.Context, p plan.Plan, s plan.Step, stack model.Stack, known plan.Known) (bool, error) {
	key := keyOf(s, stack)
	freed := slices.ContainsFunc(s.After, func(id plan.StepID) bool {
		return r.out.Made[id] || slices.ContainsFunc(p.Joins[id], func(id plan.StepID) bool { return r.out.Made[id] })
	})
	f, put := r.mem.refused.lastFailure(key, s, freed, r.e.now())
	if !put {
		var err error
		if f, err = r.call(ctx, p, s, stack, key, known); err != nil || f.Err == nil {
			return err == nil, err
		}
	}
	if parts := splitStep(f); len(parts) > 1 {
		return r.carryOutParts(ctx, p, parts, stack, known)
	}
	r.out.Failed = append(r.out.Failed, f)
	return false, nil
}

// call carries out a step, and returns how it failed if it did. The error ends the run.
func (r *run) call(ctx context.Context, p plan.Plan, s plan.Step, stack model.Stack, key stepKey, known plan.Known) (FailedStep, error) {
	if err := ctx.Err(); err != nil {
		return FailedStep{}, err
	}
	if err := r.e.fence(); err != nil {
		return FailedStep{}, err
	}
	start := r.e.now()
	res, err := r.step(ctx, s, known)
	r.e.phase(p.Stack.Kind, phaseOf(s), start)
	if err != nil {
		f := FailedStep{Step: s, Class: r.class(s, err), Err: err, Called: true, key: key}
		if f.Class != Fenced {
			f = r.fail(ctx, f)
		}
		r.stepped(p.Stack, res, f)
		if f.Class == Fenced {
			return FailedStep{}, err
		}
		return f, nil
	}
	r.stepped(p.Stack, res, FailedStep{Step: s})
	r.mem.refused.noteSuccess(key, r.e.now())
	r.out.Changed = r.out.Changed || !r.reported[s.ID] // what AWS does not keep is no success
	if !plan.InKubernetes(s.Do) {
		r.mem.repeats.noteChange(changeKey(p, s, stack), res.ID, r.e.now())
	}
	r.noteSecret(s, res, known)
	if _, ok := s.Do.(plan.ClaimFinalizer); ok {
		r.mem.noteClaimed(r.out.Stack)
	}
	if res.ID == "" {
		return FailedStep{}, nil
	}
	known[s.Address] = res.ID
	if slices.Contains(p.LoadBalancers, s.Address) && p.Shown[s.Address] == "" {
		r.name(s.Address, res.DNSName)
		r.live(s.Address, Live{ARN: res.ID})
	}
	return FailedStep{}, nil
}

// name notes the DNS name of a load balancer, if it is known.
func (r *execution) name(a plan.Address, name string) {
	if name == "" {
		return
	}
	if r.out.DNSNames == nil {
		r.out.DNSNames = map[string]string{}
	}
	r.out.DNSNames[a.ID] = name
}

func (r *execution) stepped(id model.StackID, res plan.Result, f FailedStep) {
	r.e.Recorder.Stepped(id, res, f)
}

// fail remembers a failure that is the step's own.
func (r *execution) fail(ctx context.Context, f FailedStep) FailedStep {
	switch f.Class {
	case Throttled, Gone, Conflict:
		return f // later, or as the next plan has it
	}
	if failure.Turn(f.Err) > 0 || ctx.Err() != nil {
		return f
	}
	return r.mem.refused.refused(f.key, f, r.e.now())
}

// phaseOf returns the name under which a step is measured.
func phaseOf(s plan.Step) Phase {
	switch s.Do.(type) {
	case plan.ClaimFinalizer:
		return "claim"
	case plan.ReleaseFinalizer:
		return "release"
	}
	return Phase(s.Address.Kind)
}

func (r *execution) step(ctx context.Context, s plan.Step, known plan.Known) (plan.Result, error) {
	var res plan.Result
	var err error
	if plan.InKubernetes(s.Do) {
		res, err = r.e.Cluster.Apply(ctx, r.out.ID, s, known)
	} else {
		res, err = r.applyAWS(ctx, s, known)
	}
	if plan.ChangesRouting(s.Do) {
		// Also after an error: the answer may be lost and the effect be there.
		r.mem.rerouted = r.e.now()
	}
	if err != nil {
		return res, fmt.Errorf("%s%w", attemptPrefix(s), err)
	}
	r.e.memories.noteImport(r.out.ID, s, r.e.now())
	return res, nil
}

// applyAWS carries out a step in AWS. Nothing else of the run uses its view or its memory meanwhile.
func (r *execution) applyAWS(ctx context.Context, s plan.Step, known plan.Known) (plan.Result, error) {
	waiting := model.Stack{ID: r.out.ID}
	for _, ref := range s.Blames {
		waiting.Members = append(waiting.Members, model.Member{Ref: ref})
	}
	r.forget()
	r.changing.wait(ctx)
	defer r.watch(ctx, waiting)()
	return r.e.Cloud.Apply(ctx, r.out.ID, s, known)
}

func (r *execution) class(s plan.Step, err error) Class {
	if errors.Is(err, errStopped) {
		return Fenced
	}
	if plan.InKubernetes(s.Do) {
		return r.e.Cluster.Class(err)
	}
	return r.e.Cloud.Class(err)
}

// reportRepeats reports what AWS does not keep, and looks at it again when it may be made again.
func (r *run) reportRepeats() {
	r.out.Findings = append(r.out.Findings, r.mem.repeats.findings()...).Sorted()
	if _, next := r.mem.repeats.due(r.e.now()); next > 0 {
		r.requeueAfter(next)
	}
}

// requeueAfter looks again after d at the latest.
func (r *run) requeueAfter(d time.Duration) {
	if r.out.RetryAfter == 0 || d < r.out.RetryAfter {
		r.out.RetryAfter = d
	}
}
