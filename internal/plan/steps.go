package plan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// steps collects what a plan consists of: steps, questions, waits and findings.
type steps struct {
	plan    Plan
	found   finding.List
	stepIDs map[StepID]bool
	asked   map[string]bool          // keys of questions
	waiting map[string]bool          // keys of waits
	waited  map[string]time.Duration // see Memory.Waited
	later   []Step                   // that wait for something, and that nothing depends on
}

func newSteps(of model.StackID, waited map[string]time.Duration) *steps {
	return &steps{
		plan:    Plan{Stack: of},
		stepIDs: map[StepID]bool{}, asked: map[string]bool{}, waiting: map[string]bool{}, waited: waited,
	}
}

// add appends a step and returns its id.
func (st *steps) add(s Step) StepID {
	if s.Impact == "" {
		s.Impact = NoImpact
	}
	if slices.Contains(s.After, "") {
		s.After = slices.DeleteFunc(slices.Clone(s.After), func(id StepID) bool { return id == "" })
	}
	st.plan.Steps = append(st.plan.Steps, s)
	st.stepIDs[s.ID] = true
	return s.ID
}

// ask has a question answered before the plan is carried out.
func (st *steps) ask(q model.Question) {
	if key := q.Key(); !st.asked[key] {
		st.asked[key] = true
		st.plan.Asks = append(st.plan.Asks, q)
	}
}

// again has the plan made again after a time at the latest.
func (st *steps) again(d time.Duration) {
	if st.plan.Again == 0 || d < st.plan.Again {
		st.plan.Again = d
	}
}

// planned reports whether a step is part of the plan so far.
func (st *steps) planned(id StepID) bool {
	return st.stepIDs[id]
}

// allSteps are those that later ones may have to wait for. A record that cannot be made only keeps
// its certificate waiting.
func (st *steps) allSteps() []StepID {
	var out []StepID
	for _, s := range st.plan.Steps {
		if _, ok := s.Do.(CreateRecord); !ok {
			out = append(out, s.ID)
		}
	}
	return out
}

// waitLater adds what is looked at again, after everything that could otherwise wait for it.
func (st *steps) waitLater() {
	for _, s := range st.later {
		st.add(s)
	}
}
