package bindingplan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Plan has the steps for a binding, and what to report afterwards.
type Plan struct {
	// Questions ask for the facts that the plan needs. A plan with questions has no steps yet.
	Questions []Question
	// Steps are carried out in this order.
	Steps []Step
	// WatchedObjects has additional objects whose changes trigger a run. The objects from which the endpoints are read
	// trigger runs anyway.
	WatchedObjects []cluster.Ref
	// TargetsUnavailable is set if the targets cannot be read now.
	TargetsUnavailable bool
	// Deferred is set if the binding has not changed since the last complete run. In this case, the plan changes nothing.
	Deferred bool
	// NeedsRemoval is set if the run must carry out the plan of MakeRemoval afterwards, unless the step
	// RecordRemovalNotNeeded was carried out.
	NeedsRemoval bool

	// Err is an error that ends the run. The run is repeated with back-off.
	Err error

	findings      finding.List // known before the steps are carried out
	retries       []retry
	finalReport   reportKind
	moves         *targetMoves
	endingFailure *Failure      // failure that ends the plan
	postponedFor  time.Duration // time until a postponed call may be sent
}

// ReadError returns the error of a failed read, because of which the plan lacks changes; nil if all reads succeeded. The
// result is also nil if the target group does not exist, because there are no targets to change.
func (p Plan) ReadError() error {
	if f := p.endingFailure; p.Err == nil && f != nil && !f.isMissing() {
		return f.Err
	}
	return p.Err
}

// retry is a request for another run after some time.
type retry struct {
	after time.Duration
	why   string
}

// reportKind determines what a run reports after it has carried out the steps of its plan.
type reportKind int

const (
	reportNothing          reportKind = iota
	reportMissingEndpoints            // pods with the readiness gate that are not endpoints
	reportFailure                     // a fact that could not be read
	reportFindings                    // findings that a user has to correct
	reportTargets                     // the health of targets, and success
	reportMissingBackend              // a Service that does not exist
	reportCleanup                     // only failures, with the reason reasonFailedCleanup
	reportDeletion                    // only failures; afterwards the Memory of the binding is deleted
)

// planner makes the plan for one binding.
type planner struct {
	*Facts
	Plan
	endFindings []finding.Finding
}

// Make returns the plan for a binding.
func Make(f *Facts) Plan {
	p := &planner{Facts: f}
	switch {
	case f.Absent:
		p.cleanUpAfterDeletion()
	case f.StoredBinding.DeletionTimestamp != nil:
		p.NeedsRemoval = true
		p.planDeletion()
	default:
		p.NeedsRemoval = true
		p.converge()
	}
	return p.result()
}

// result returns the plan. If there are questions, it returns only the questions, because steps that were planned without
// the answers may be wrong.
func (p *planner) result() Plan {
	if len(p.Questions) > 0 {
		return Plan{Questions: p.Questions}
	}
	p.findings.Add(p.endFindings...)
	return p.Plan
}

// ask adds a question to the plan.
func (p *planner) ask(a Question) { p.Questions = append(p.Questions, a) }

// addStep appends a step to the plan.
func (p *planner) addStep(a Action, why string) { p.Steps = append(p.Steps, Step{a, why}) }

// requeueAfter requests another run after some time.
func (p *planner) requeueAfter(after time.Duration, why string) {
	p.retries = append(p.retries, retry{after, why})
}

// gateType returns the type of the readiness gate of the binding.
func (f *Facts) gateType() corev1.PodConditionType {
	return targets.ReadinessGateType(f.Key.Name)
}
