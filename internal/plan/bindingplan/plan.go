package bindingplan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Plan is what happens to a binding.
type Plan struct {
	// Asks are facts that the plan needs; with any, it has no steps yet.
	Questions []Question
	// Steps in their order.
	Steps []Step
	// Watch are objects whose changes concern the binding, besides those that its endpoints are read from.
	Watch []cluster.Ref
	// Unavailable: the targets cannot be read now.
	Unavailable bool
	// Deferred: nothing has changed since the last complete run, so nothing is done.
	Deferred bool
	// Remove: afterwards, targets whose pods are gone are looked for; see MakeRemoval.
	Remove bool

	// Err ends the run, which is repeated with back-off.
	Err error

	findings  finding.List // known before anything is done
	retries   []retry
	end       ending
	moves     *moves
	failed    *Failure      // at which the plan ends
	postponed time.Duration // until a call has its turn
}

// retry asks for another run after a time.
type retry struct {
	after time.Duration
	why   string
}

// ending is what is reported after the steps.
type ending int

const (
	quietly              ending = iota // nothing
	withMissingEndpoints               // pods that will not become targets
	withFailure                        // what could not be read
	withFindings                       // what a user has to correct
	withTargets                        // the health of targets, and success
	withdrawn                          // that the backend is not there
	released                           // nothing but failures, with the reason of a cleanup
	disappeared                        // nothing, and the binding is forgotten
)

type planner struct {
	*Facts
	Plan
	ended []finding.Finding
}

// Make makes the plan of a binding.
func Make(f *Facts) Plan {
	p := &planner{Facts: f}
	switch {
	case f.Absent:
		p.cleanUpAfterDeletion()
	case f.Stored.DeletionTimestamp != nil:
		p.Remove = true
		p.leaveTargetGroup()
	default:
		p.Remove = true
		p.converge()
	}
	return p.result()
}

func (p *planner) result() Plan {
	if len(p.Questions) > 0 {
		return Plan{Questions: p.Questions}
	}
	p.findings.Add(p.ended...)
	return p.Plan
}

func (p *planner) ask(a Question) { p.Questions = append(p.Questions, a) }

func (p *planner) addStep(a Action, why string) { p.Steps = append(p.Steps, Step{a, why}) }

func (p *planner) requeueAfter(after time.Duration, why string) {
	p.retries = append(p.retries, retry{after, why})
}

// gate returns the type of the readiness gate of the binding.
func (f *Facts) gate() corev1.PodConditionType {
	return targets.GateType(f.Key.Name)
}

// claimed reports whether the binding does not go before its targets.
func (f *Facts) claimed() bool { return hasFinalizer(f.Stored) }
