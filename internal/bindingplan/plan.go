package bindingplan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// How soon a run is repeated.
const (
	// LongestBackOff is for what AWS refused and only a change of input corrects.
	LongestBackOff = 5 * time.Minute
	lacking        = time.Minute // for a target group that does not exist
	lackingFor     = time.Hour   // from then on it is looked for at the longest back-off
	// AbsenceDelay is how long a backend is missing before that is believed.
	AbsenceDelay = 5 * time.Second
	// replacedWithin is for how long the targets of a Service that is gone stay, if the stack of the binding is to stay:
	// longer than the targets of another Service usually take to become healthy.
	replacedWithin = 5 * time.Minute
	// handover is how soon it is looked again whether new targets can take over.
	handover = 2 * time.Second
	// comeback is for how long no rule is taken away after a binding has disappeared without letting
	// go, and how often it is looked then whether its group is still in use: it is made again in a moment,
	// or later, if its definition has to come back first.
	comeback = time.Minute
)

// HealthAge is how old a list of targets may be that changes are made from. Our own writes are always in it.
const HealthAge = 5 * time.Minute

// Plan is what happens to a binding.
type Plan struct {
	// Asks are facts that the plan needs; with any, it has no steps yet.
	Asks []Ask
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

	findings finding.List // known before anything is done
	retries  []retry
	end      ending
	moves    *moves
	failed   *Failure      // at which the plan ends
	putOff   time.Duration // until a call has its turn
}

// retry asks for another run after a time.
type retry struct {
	after time.Duration
	why   string
}

// ending says what is reported after the steps.
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
		p.gone()
	case f.Stored.DeletionTimestamp != nil:
		p.Remove = true
		p.leave()
	default:
		p.Remove = true
		p.converge()
	}
	return p.result()
}

func (p *planner) result() Plan {
	if len(p.Asks) > 0 {
		return Plan{Asks: p.Asks}
	}
	p.findings.Add(p.ended...)
	return p.Plan
}

func (p *planner) ask(a Ask) { p.Asks = append(p.Asks, a) }

func (p *planner) do(a Action, why string) { p.Steps = append(p.Steps, Step{a, why}) }

func (p *planner) again(after time.Duration, why string) {
	p.retries = append(p.retries, retry{after, why})
}

// gate is the type of the readiness gate of the binding.
func (f *Facts) gate() corev1.PodConditionType {
	return corev1.PodConditionType(targets.GatePrefix + f.Key.Name)
}

// claimed reports whether the binding does not go before its targets.
func (f *Facts) claimed() bool { return hasFinalizer(f.Stored) }
