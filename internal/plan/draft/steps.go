package draft

import (
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// StepChain is a list of steps to which more steps are added. A step that depends on the chain depends only on the steps
// that are in the chain at that time.
type StepChain struct {
	Steps       []plan.StepID
	lastJoin    plan.StepID // latest join of the chain; empty if Join was not called yet
	joinedCount int         // number of steps of the chain that the latest join contains
}

// Add appends a step to the chain.
func (c *StepChain) Add(id plan.StepID) { c.Steps = append(c.Steps, id) }

// Join returns the id of a join of all steps in the chain. The join contains the previous join of the chain and the steps
// that were added since, so that the joins of a long chain are small.
func (st *Steps) Join(c *StepChain) plan.StepID {
	if c.lastJoin != "" && c.joinedCount == len(c.Steps) {
		return c.lastJoin
	}
	var members []plan.StepID
	if c.lastJoin != "" {
		members = append(members, c.lastJoin)
	}
	members = append(members, c.Steps[c.joinedCount:]...)
	if st.Plan.Joins == nil {
		st.Plan.Joins = map[plan.StepID][]plan.StepID{}
	}
	c.lastJoin, c.joinedCount = plan.StepID(fmt.Sprintf("join %d", len(st.Plan.Joins)+1)), len(c.Steps)
	st.Plan.Joins[c.lastJoin] = members
	return c.lastJoin
}

// Steps collects the steps, questions, waits and findings of a plan.
type Steps struct {
	Plan          plan.Plan
	Findings      finding.List
	stepIDs       map[plan.StepID]bool
	questionKeys  map[string]bool          // keys of questions
	waitKeys      map[string]bool          // keys of waits
	waitTimes     map[string]time.Duration // see plan.Memory.WaitedTimes
	TrailingSteps []plan.Step              // steps that wait, and on which no other step depends
}

// NewSteps returns the empty plan of a stack. waited has the value of plan.Memory.WaitedTimes.
func NewSteps(of model.StackID, waited map[string]time.Duration) *Steps {
	return &Steps{
		Plan:    plan.Plan{Stack: of},
		stepIDs: map[plan.StepID]bool{}, questionKeys: map[string]bool{}, waitKeys: map[string]bool{}, waitTimes: waited,
	}
}

// Add appends a step and returns its id. Empty ids are removed from the dependencies of the step.
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

// Ask adds a question, unless the plan already has it. The plan is made again with the answer before it is carried out.
func (st *Steps) Ask(q model.Question) {
	if key := q.Key(); !st.questionKeys[key] {
		st.questionKeys[key] = true
		st.Plan.Questions = append(st.Plan.Questions, q)
	}
}

// RetryWithin requests that the plan is made again after the time d at the latest.
func (st *Steps) RetryWithin(d time.Duration) {
	if st.Plan.RetryAfter == 0 || d < st.Plan.RetryAfter {
		st.Plan.RetryAfter = d
	}
}

// IsStepPlanned reports whether the plan already has a step with this id.
func (st *Steps) IsStepPlanned(id plan.StepID) bool {
	return st.stepIDs[id]
}

// PossibleDependencies returns the steps on which a later step may have to depend. It does not include steps that create DNS
// records: if a DNS record cannot be created, only a certificate has to wait.
func (st *Steps) PossibleDependencies() []plan.StepID {
	var out []plan.StepID
	for _, s := range st.Plan.Steps {
		if _, ok := s.Do.(plan.CreateRecord); !ok {
			out = append(out, s.ID)
		}
	}
	return out
}

// AddTrailingSteps adds TrailingSteps to the plan. It is called last, so that PossibleDependencies does not return these
// steps.
func (st *Steps) AddTrailingSteps() {
	for _, s := range st.TrailingSteps {
		st.Add(s)
	}
}
