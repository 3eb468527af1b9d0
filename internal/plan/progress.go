package plan

import "fmt"

// Progress says which steps of a plan can be carried out, given those that were.
type Progress struct {
	joins map[StepID][]StepID
	done  map[StepID]bool
}

// Begin returns the progress of a plan of which nothing is done yet.
func (p Plan) Begin() *Progress {
	return &Progress{joins: p.Joins, done: make(map[StepID]bool, len(p.Steps))}
}

// Done notes that a step has succeeded.
func (g *Progress) Done(id StepID) { g.done[id] = true }

// Ready reports whether all steps have succeeded that a step needs. Steps are asked for in their
// order in the plan.
func (g *Progress) Ready(s Step) bool {
	for _, id := range s.After {
		if !g.is(id) {
			return false
		}
	}
	return true
}

// is reports whether a step, or all steps of a join, are done.
func (g *Progress) is(id StepID) bool {
	if done, known := g.done[id]; known {
		return done
	}
	members, join := g.joins[id]
	if !join {
		return false
	}
	all := true
	for _, m := range members {
		all = all && g.is(m)
	}
	g.done[id] = all // what a join holds comes before all that needs it
	return all
}

// stepChain is a list of steps that grows, and that others depend on as it is at their time.
type stepChain struct {
	steps []StepID
	last  StepID // the join of the first n
	n     int
}

func (c *stepChain) add(id StepID) { c.steps = append(c.steps, id) }

// joined returns the id of a join of all steps of a chain. It names only those that the join before
// it does not.
func (st *steps) joined(c *stepChain) StepID {
	if c.last != "" && c.n == len(c.steps) {
		return c.last
	}
	var members []StepID
	if c.last != "" {
		members = append(members, c.last)
	}
	members = append(members, c.steps[c.n:]...)
	if st.plan.Joins == nil {
		st.plan.Joins = map[StepID][]StepID{}
	}
	c.last, c.n = StepID(fmt.Sprintf("join %d", len(st.plan.Joins)+1)), len(c.steps)
	st.plan.Joins[c.last] = members
	return c.last
}
