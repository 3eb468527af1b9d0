package plan

// Progress records which steps of a plan have succeeded, and determines which steps can be carried out next.
type Progress struct {
	joins map[StepID][]StepID
	done  map[StepID]bool
}

// NewProgress returns a Progress of the plan in which no step has succeeded yet.
func (p Plan) NewProgress() *Progress {
	return &Progress{joins: p.Joins, done: make(map[StepID]bool, len(p.Steps))}
}

// MarkDone records that a step has succeeded.
func (g *Progress) MarkDone(id StepID) { g.done[id] = true }

// CanStart reports whether all steps on which s depends have succeeded. It must be called for the steps in the order of the
// plan.
func (g *Progress) CanStart(s Step) bool {
	for _, id := range s.After {
		if !g.isDone(id) {
			return false
		}
	}
	return true
}

// isDone reports whether a step, or each step of a join, has succeeded. The result for a join is stored. It cannot change
// later, because all steps of a join come before the first step that depends on the join.
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
	g.done[id] = all
	return all
}
