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
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// run is one reconciliation of a stack.
type run struct {
	execution
	heldSteps []FailedStep // refused steps that the plan leaves out, because their parts of the stack are held

	// wasConverged reports whether AWS matched the desired state before the run, and the desired state has not changed since
	// that time. In this case, every step of the plan corrects drift.
	wasConverged bool
	// uncorrectedSteps are the steps that would correct drift, but that the run skips because of --drift=report.
	// uncorrectedFindings report the same drift.
	uncorrectedSteps    map[plan.StepID]bool
	uncorrectedFindings finding.List
	// securityGroupDriftReported reports whether the findings about drift include a security group. The plan's finding about
	// rules that were added to a security group is then left out.
	securityGroupDriftReported bool

	// wasEdited reports whether the desired state differs from the one of the previous run.
	wasEdited bool
	// editDelay is how long the changes of the plan are delayed, because the desired state changes too often. If it is 0,
	// the changes are carried out now.
	editDelay time.Duration
	// repeatingSteps are the steps that repeat an earlier change. delayedSteps are the steps that this run does not carry
	// out, for example because the same change was made too often. reportedRepeatedSteps are the repeating steps that are
	// reported in findings, and the steps that depend on them.
	repeatingSteps, delayedSteps, reportedRepeatedSteps map[plan.StepID]bool
}

// observation reads the state of the cluster and of AWS for a run or a draft, and makes plans from this state.
type observation struct {
	e    *Engine
	out  *Outcome
	view *cluster.View
	mem  *memory
	// relation is how the stack is related to another stack with the same load balancer. It is nil before the first
	// observation.
	relation *handover.Relation
	// reservedStacks points to the stacks on which no other run works until this run ends. It is nil for a draft, which
	// writes nothing.
	reservedStacks *[]model.StackID
	// takeOverBlocked reports whether a load balancer that the stack takes over must not be changed, because a required step
	// has failed.
	takeOverBlocked bool
}

// execution carries out steps, and records their results in the outcome.
type execution struct {
	observation
	// forgottenStacks are the stacks whose checkpoints this run has removed.
	forgottenStacks map[model.StackID]bool
	// checkpointWrites remove the checkpoints of forgottenStacks from the store. Changes in AWS wait for these writes.
	checkpointWrites checkpoint.PendingWrites
}

// resolveAndConverge uses the observed state to decide contested settings, and then makes and applies plans. If a plan must
// not be applied before the stack is compared with AWS, it compares the stack and makes the plan again.
func (r *run) resolveAndConverge(ctx context.Context, stack model.Stack, found finding.List) (model.Stack, finding.List, error) {
	for {
		resolved, all, by, err := r.resolveContestedSettings(ctx, stack, found)
		if err != nil {
			r.out.FailedPhase = ObservePhase
			return resolved, all, err
		}
		if err = r.converge(ctx, resolved, all, by); !errors.Is(err, errNeedsComparison) {
			return resolved, all, err
		}
		r.wasConverged = true
	}
}

// converge makes a plan and applies it. If AWS refuses parts of the stack, it holds these parts, and makes the plan again
// without them. If a step shows that the observed state is out of date, it also makes the plan again.
func (r *run) converge(ctx context.Context, stack model.Stack, found finding.List, by observed.Facts) error {
	waiting := slices.Collect(maps.Keys(r.mem.waits)) // keys of the waits to remember: first the keys from earlier runs, then the keys of the latest plan
	defer func() { r.mem.waits = r.mem.waits.onlyKeys(waiting) }()
	for n := 0; ; n++ {
		stack = r.holdRefusedParts(stack) // repeated for each plan, because a refusal in this run may have used up the budget of other steps
		r.takeOverBlocked = slices.ContainsFunc(r.heldSteps, FailedStep.blocksTakeOver)
		d, err := r.draftPlan(ctx, stack, found, by, r.mem.planMemory(r.e.now(), r.e.Options.Propagation, r.e.memories.importPauses(stack, r.e.now())))
		if err != nil {
			r.out.FailedPhase = ObservePhase
			return err
		}
		waiting = d.Plan.WaitKeys
		r.mem.waits = r.mem.waits.withKeys(waiting, r.e.now())
		r.findRepeatedSteps(d, stack)
		if n == 0 && !r.skipsAllSteps(d.Plan) && r.mem.comparison.NeedsComparison(d.Plan, r.e.now()) {
			return errNeedsComparison
		}
		if n == 0 {
			r.findDrift(d)
			r.mem.drift.comparedAt = d.Have.Facts.Now
		}
		r.out.Stack, r.out.Plan, r.out.Have, r.out.sharesLoadBalancer = d.Stack, d.Plan, d.Have, r.relation.DependsOnOther(d.Have)
		if d.Stack.Describe {
			r.out.Document = d.Describe()
		}
		r.out.Findings = append(r.withoutReportedDrift(d.Findings), r.uncorrectedFindings...).Sorted()
		if d.Stack.DryRun {
			waiting = nil // a dry run starts no wait, so that the deadlines of a later run are not shortened
			r.out.Done = true
			return nil
		}
		for _, a := range d.Plan.LoadBalancers {
			r.recordLiveLoadBalancer(a, existingLoadBalancer(d, a))
		}
		r.out.FailedSteps, r.out.RetryAfter = nil, 0
		start := r.e.now()
		r.recordAssumedSecretHashes(d)
		r.invalidateSecretHashes(d.Plan)
		err = r.apply(ctx, d.Plan, stack)
		r.e.recordPhase(stack.ID.Kind, ApplyPhase, start)
		if err != nil {
			r.out.FailedPhase = ApplyPhase
			return err
		}
		if r.out.Done && stack.IsEmpty() {
			r.mem.stepRefusals = refusals{}
			if r.e.Secrets != nil {
				r.e.Secrets.RetainSecretHashes(r.out.ID, nil)
			}
		}
		next, again := r.needsReplan(stack)
		if !again || r.out.Observations+observationsPerPlan > maxObservations {
			if d.Plan.RetryAfter > 0 {
				r.requeueAfter(d.Plan.RetryAfter)
			}
			if r.relation.IsWaitingForOther(d.Stack) {
				r.out.Done = false
				r.requeueAfter(r.mem.waits.otherStackPollInterval(r.e.now()))
			}
			r.reportFailedSteps(d.MissingInAWS)
			return nil
		}
		stack = next
	}
}

// needsReplan reports whether failed steps require a new plan. next is the stack with the refused parts held.
func (r *run) needsReplan(stack model.Stack) (next model.Stack, again bool) {
	h := &heldPartMarker{stack: stack}
	for _, f := range r.out.FailedSteps {
		switch {
		case (f.Class == failure.Gone || f.Class == failure.Conflict) && f.Called:
			again = true
		case f.isHeld():
			if h.hold(f) {
				r.heldSteps = append(r.heldSteps, f)
				again = true
			}
		}
	}
	return h.stack, again
}

// holdRefusedParts returns the stack, in which each part is held that AWS refused and whose back-off is not over. The plan
// then has no steps for these parts.
func (r *run) holdRefusedParts(stack model.Stack) model.Stack {
	h := &heldPartMarker{stack: stack}
	for range maxObservations {
		changed := false
		for _, f := range r.mem.stepRefusals.pendingFailures(h.stack, r.e.now()) {
			if f.isHeld() && h.hold(f) {
				changed = true
				r.heldSteps = append(r.heldSteps, f)
			}
		}
		if !changed {
			break
		}
	}
	return h.stack
}

// existingLoadBalancer returns the load balancer in AWS at an address: the load balancer that the plan keeps, or otherwise
// the load balancer that the plan replaces. It returns nil if neither exists.
func existingLoadBalancer(d Draft, a plan.Address) *observed.LoadBalancer {
	live := plan.ShownLoadBalancer(d.Have, a.ID)
	for i := range d.Have.LoadBalancers {
		if d.Have.LoadBalancers[i].ARN == cmp.Or(d.Plan.ShownARNs[a], d.Plan.KnownIDs[a]) {
			live = &d.Have.LoadBalancers[i]
		}
	}
	return live
}

// recordLiveLoadBalancer records in the outcome the load balancer in AWS at an address. It does nothing if lb is nil.
func (r *execution) recordLiveLoadBalancer(a plan.Address, lb *observed.LoadBalancer) {
	if lb == nil {
		return
	}
	r.setLiveLoadBalancer(a, LiveLoadBalancer{ARN: lb.ARN, Active: lb.State == "active" || lb.State == "active_impaired"}, lb.DNSName)
}

// setLiveLoadBalancer records in the outcome the load balancer in AWS at an address, and its DNS name if that is known.
func (r *execution) setLiveLoadBalancer(a plan.Address, lb LiveLoadBalancer, dnsName string) {
	if r.out.LiveLoadBalancers == nil {
		r.out.LiveLoadBalancers, r.out.DNSNames = map[string]LiveLoadBalancer{}, map[string]string{}
	}
	r.out.LiveLoadBalancers[a.ID] = lb
	if dnsName != "" {
		r.out.DNSNames[a.ID] = dnsName
	}
}

// apply carries out the steps of a plan that do not wait. A failed step prevents only the steps that depend on it.
func (r *run) apply(ctx context.Context, p plan.Plan, stack model.Stack) error {
	known := maps.Clone(p.KnownIDs)
	done := p.NewProgress()
	if r.out.CarriedOutSteps == nil {
		r.out.CarriedOutSteps = map[plan.StepID]bool{}
	}
	again := time.Duration(0) // time until the stack runs again; 0 if no step waits
	wait := func(due time.Duration) {
		if again == 0 || due < again {
			again = due
		}
	}
	if r.editDelay > 0 {
		wait(r.editDelay)
	}
	carryOut := func(s plan.Step) error {
		carried, err := r.carryOut(ctx, p, s, stack, known)
		if carried {
			done.MarkDone(s.ID)
			r.out.CarriedOutSteps[s.ID] = true
		}
		return err
	}
	openings := r.portStepsOfRefusedListeners(p, stack)
	var late []plan.Step // steps that open ports, carried out once AWS has accepted the listeners
	for _, s := range p.Steps {
		if r.uncorrectedSteps[s.ID] || r.delayedSteps[s.ID] {
			continue
		}
		if openings[s.ID] {
			late = append(late, s)
			done.MarkDone(s.ID)
			continue
		}
		if s.Waits() {
			if !r.anyFailed(s.After) { // if such a step failed, its back-off decides when the stack runs again
				wait(cmp.Or(s.Wait.RetryAfter, durations.FirstPoll))
			}
			continue
		}
		if d := r.mem.finalizerRemovalDelay(r.out.Stack, s.Do, r.e.now()); d > 0 {
			wait(d)
			continue
		}
		if s = withoutDelayedRules(p, s, r.delayedSteps); !done.CanStart(s) || r.freesNeededCapacity(s) {
			continue
		}
		if err := carryOut(s); err != nil {
			return err
		}
	}
	for _, s := range late {
		if !done.CanStart(s) || !slices.ContainsFunc(p.Steps, func(o plan.Step) bool { return r.out.CarriedOutSteps[o.ID] && slices.Contains(o.After, s.ID) }) {
			continue
		}
		if err := carryOut(s); err != nil {
			return err
		}
	}
	r.out.RetryAfter = again
	r.out.Done = again == 0 && p.RetryAfter == 0 && len(r.out.FailedSteps) == 0 && !(stack.IsEmpty() && len(r.delayedSteps) > 0)
	return nil
}

// freesNeededCapacity reports whether a step deletes a rule although AWS refused to create another rule of this plan because
// of a quota. This run skips such a step. If both rules belong to the same namespace, the next plan modifies the old rule to
// become the refused rule, so that no other namespace can use the freed quota.
func (r *run) freesNeededCapacity(s plan.Step) bool {
	_, deletes := s.Do.(plan.DeleteRule)
	return deletes && slices.ContainsFunc(r.out.FailedSteps, func(f FailedStep) bool {
		do, _ := f.Step.Do.(plan.CreateRule)
		return f.lacksCapacity() && !do.Rule.OverQuota
	})
}

// anyFailed reports whether at least one of the steps failed or was skipped.
func (r *run) anyFailed(steps []plan.StepID) bool {
	return slices.ContainsFunc(r.out.FailedSteps, func(f FailedStep) bool { return slices.Contains(steps, f.Step.ID) })
}

// carryOut calls a step if no back-off delays it, and reports whether the step was carried out. A refused step may be split
// into its parts, which are then carried out. An error ends the run.
func (r *run) carryOut(ctx context.Context, p plan.Plan, s plan.Step, stack model.Stack, known plan.KnownIDs) (bool, error) {
	key := stepKeyOf(s, stack)
	freed := slices.ContainsFunc(s.After, func(id plan.StepID) bool {
		return r.out.CarriedOutSteps[id] || slices.ContainsFunc(p.Joins[id], func(id plan.StepID) bool { return r.out.CarriedOutSteps[id] })
	})
	f, backingOff := r.mem.stepRefusals.lastFailure(key, s, freed, r.e.now())
	if !backingOff {
		var err error
		if f, err = r.attemptStep(ctx, p, s, stack, key, known); err != nil || f.Err == nil {
			return err == nil, err
		}
	}
	if parts := splitStep(f); len(parts) > 1 {
		return r.carryOutParts(ctx, p, parts, stack, known)
	}
	r.out.FailedSteps = append(r.out.FailedSteps, f)
	return false, nil
}

// attemptStep checks the fence and then carries out a step. A failure of the step is a FailedStep. An error ends the run.
func (r *run) attemptStep(ctx context.Context, p plan.Plan, s plan.Step, stack model.Stack, key stepKey, known plan.KnownIDs) (FailedStep, error) {
	if err := ctx.Err(); err != nil {
		return FailedStep{}, err
	}
	if err := r.e.checkFence(); err != nil {
		return FailedStep{}, err
	}
	start := r.e.now()
	res, err := r.applyStep(ctx, s, known)
	r.e.recordPhase(p.Stack.Kind, phaseOf(s), start)
	if err != nil {
		f := FailedStep{Step: s, Class: r.classOf(s, err), Err: err, Called: true, key: key}
		if f.Class != failure.Fenced {
			f = r.recordFailure(ctx, f)
		}
		r.e.Recorder.RecordStep(p.Stack, res, f)
		if f.Class == failure.Fenced {
			return FailedStep{}, err
		}
		return f, nil
	}
	r.e.Recorder.RecordStep(p.Stack, res, FailedStep{Step: s})
	r.mem.stepRefusals.recordSuccess(key, r.e.now())
	r.out.Changed = r.out.Changed || !r.reportedRepeatedSteps[s.ID] // a change that AWS does not persist is not a success
	if !plan.WritesToKubernetes(s.Do) {
		r.mem.repeats.recordChange(changeKey(p, s, stack), res.ID, r.e.now())
	}
	r.recordWrittenSecretHash(s, res, known)
	if _, ok := s.Do.(plan.ClaimFinalizer); ok {
		r.mem.recordFinalizerAdded(r.out.Stack)
	}
	if res.ID == "" {
		return FailedStep{}, nil
	}
	known[s.Address] = res.ID
	if slices.Contains(p.LoadBalancers, s.Address) && p.ShownARNs[s.Address] == "" {
		r.setLiveLoadBalancer(s.Address, LiveLoadBalancer{ARN: res.ID}, res.DNSName)
	}
	return FailedStep{}, nil
}

// recordFailure stores a failure of a step, and returns the failure with its back-off. Failures that are not caused by the
// content of the step are not stored: throttled or postponed calls, and out-of-date reads.
func (r *execution) recordFailure(ctx context.Context, f FailedStep) FailedStep {
	switch f.Class {
	case failure.Throttled, failure.Gone, failure.Conflict:
		return f // not stored: the call is made later, or the next plan has another step
	}
	if failure.PostponedFor(f.Err) > 0 || ctx.Err() != nil {
		return f
	}
	return r.mem.stepRefusals.recordRefusal(f.key, f, r.e.now())
}

// phaseOf returns the phase of a step, under which its duration is recorded.
func phaseOf(s plan.Step) Phase {
	switch s.Do.(type) {
	case plan.ClaimFinalizer:
		return "claim"
	case plan.ReleaseFinalizer:
		return "release"
	}
	return Phase(s.Address.Kind)
}

// applyStep carries out a step in Kubernetes or AWS.
func (r *execution) applyStep(ctx context.Context, s plan.Step, known plan.KnownIDs) (plan.StepResult, error) {
	var res plan.StepResult
	var err error
	if plan.WritesToKubernetes(s.Do) {
		res, err = r.e.Cluster.Apply(ctx, r.out.ID, s, known)
	} else {
		res, err = r.applyAWSStep(ctx, s, known)
	}
	if plan.ChangesRouting(s.Do) {
		// The time is recorded even if the call failed, because AWS may have made the change although its answer was lost.
		r.mem.routesChangedAt = r.e.now()
	}
	if err != nil {
		return res, fmt.Errorf("%s%w", attemptPrefix(s), err)
	}
	r.e.memories.countImport(r.out.ID, s, r.e.now())
	return res, nil
}

// applyAWSStep carries out a step in AWS. Until it returns, another goroutine, which reports unanswered calls, may use the
// view and the memory of the run.
func (r *execution) applyAWSStep(ctx context.Context, s plan.Step, known plan.KnownIDs) (plan.StepResult, error) {
	waiting := model.Stack{ID: r.out.ID}
	for _, ref := range s.RequestedBy {
		waiting.Members = append(waiting.Members, model.Member{Ref: ref})
	}
	r.forgetCheckpoints()
	r.checkpointWrites.Wait(ctx, durations.RecheckInterval)
	defer r.watchUnansweredCalls(ctx, waiting)()
	return r.e.Cloud.Apply(ctx, r.out.ID, s, known)
}

// classOf returns the failure class of the error of a step.
func (r *execution) classOf(s plan.Step, err error) failure.Class {
	if errors.Is(err, errFenced) {
		return failure.Fenced
	}
	if plan.WritesToKubernetes(s.Do) {
		return r.e.Cluster.Class(err)
	}
	return r.e.Cloud.Class(err)
}

// reportRepeatedChanges adds findings about changes that AWS does not persist. It requeues the stack for the time at which
// the next of these changes may be repeated.
func (r *run) reportRepeatedChanges() {
	r.out.Findings = append(r.out.Findings, r.mem.repeats.findings()...).Sorted()
	if _, next := r.mem.repeats.comparisonDue(r.e.now()); next > 0 {
		r.requeueAfter(next)
	}
}

// requeueAfter requeues the stack for a run after at most d.
func (r *run) requeueAfter(d time.Duration) {
	if r.out.RetryAfter == 0 || d < r.out.RetryAfter {
		r.out.RetryAfter = d
	}
}
