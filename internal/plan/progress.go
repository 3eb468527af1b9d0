package plan

// Progress tracks which steps of a plan can be carried out, given those that were.
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
		if !g.isDone(id) {
			return false
		}
	}
	return true
}

// isDone reports whether a step, or all steps of a join, are done.
func (g *Progress) isDone(id StepID) bool {
	if done, known := g.done[id]; known {
		return done
	}
	members, join := g.joins[id]
	if !join {
		return false
	}
	all := true
	for _, m := range members {
		all = all && g.isDone(m)
	}
	g.done[id] = all // what a join holds comes before all that needs it
	return all
}
