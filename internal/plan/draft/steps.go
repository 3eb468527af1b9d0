package draft

import (
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// StepChain is a list of steps that grows, and that others depend on as it is at their time.
type StepChain struct {
	Steps []plan.StepID
	last  plan.StepID // the join of the first n
	n     int
}

func (c *StepChain) Add(id plan.StepID) { c.Steps = append(c.Steps, id) }

// Joined returns the id of a join of all steps of a chain. It names only those that the join before
// it does not.
func (st *Steps) Joined(c *StepChain) plan.StepID {
	if c.last != "" && c.n == len(c.Steps) {
		return c.last
	}
	var members []plan.StepID
	if c.last != "" {
		members = append(members, c.last)
	}
	members = append(members, c.Steps[c.n:]...)
	if st.Plan.Joins == nil {
		st.Plan.Joins = map[plan.StepID][]plan.StepID{}
	}
	c.last, c.n = plan.StepID(fmt.Sprintf("join %d", len(st.Plan.Joins)+1)), len(c.Steps)
	st.Plan.Joins[c.last] = members
	return c.last
}

// Steps collects what a plan consists of: steps, questions, waits and findings.
type Steps struct {
	Plan    plan.Plan
	Found   finding.List
	stepIDs map[plan.StepID]bool
	asked   map[string]bool          // keys of questions
	waiting map[string]bool          // keys of waits
	waited  map[string]time.Duration // see Memory.Waited
	Later   []plan.Step              // that wait for something, and that nothing depends on
}

func NewSteps(of model.StackID, waited map[string]time.Duration) *Steps {
	return &Steps{
		Plan:    plan.Plan{Stack: of},
		stepIDs: map[plan.StepID]bool{}, asked: map[string]bool{}, waiting: map[string]bool{}, waited: waited,
	}
}

// Add appends a step and returns its id.
func (st *Steps) Add(s plan.Step) plan.StepID {
	if s.Impact == "" {
		s.Impact = plan.NoImpact
	}
	if slices.Contains(s.After, "") {
		s.After = slices.DeleteFunc(slices.Clone(s.After), func(id plan.StepID) bool { return id == "" })
	}
	st.Plan.Steps = append(st.Plan.Steps, s)
	st.stepIDs[s.ID] = true
	return s.ID
}

// Ask adds a question that is answered before the plan is carried out.
func (st *Steps) Ask(q model.Question) {
	if key := q.Key(); !st.asked[key] {
		st.asked[key] = true
		st.Plan.Questions = append(st.Plan.Questions, q)
	}
}

// PlanAgain requeues the stack after a time at the latest.
func (st *Steps) PlanAgain(d time.Duration) {
	if st.Plan.RetryAfter == 0 || d < st.Plan.RetryAfter {
		st.Plan.RetryAfter = d
	}
}

// Planned reports whether a step is part of the plan so far.
func (st *Steps) Planned(id plan.StepID) bool {
	return st.stepIDs[id]
}

// AllSteps returns the steps that later ones may have to wait for. A record that cannot be made only keeps
// its certificate waiting.
func (st *Steps) AllSteps() []plan.StepID {
	var out []plan.StepID
	for _, s := range st.Plan.Steps {
		if _, ok := s.Do.(plan.CreateRecord); !ok {
			out = append(out, s.ID)
		}
	}
	return out
}

// WaitLater adds what is looked at again, after everything that could otherwise wait for it.
func (st *Steps) WaitLater() {
	for _, s := range st.Later {
		st.Add(s)
	}
}
