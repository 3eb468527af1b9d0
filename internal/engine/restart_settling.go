package engine

import (
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// past knows for which stacks there may be something that this process has not seen. What the
// process before it made just before it ended may be missing from the first answers of AWS. To let
// the last object of a stack go then would leave that behind for ever.
type past struct {
	mu    sync.Mutex
	begun time.Time
	// own are stacks of which nothing existed when this process made them.
	own map[model.StackID]struct{}
	// finished are stacks whose last run carried everything out.
	finished map[model.StackID]struct{}
}

// settleWindow is how long the answers of AWS may lack what an earlier process made. AWS documents none; it
// shows what it made after some seconds at most.
const settleWindow = 15 * time.Second

// begin notes the time of the first run; later calls do nothing.
func (p *past) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun.IsZero() {
		p.begun = now
	}
}

// made notes that a stack is claimed whose objects carried no mark of it.
func (p *past) made(s model.Stack, now time.Time) {
	if len(s.Leaving) > 0 {
		return
	}
	for _, m := range s.Members {
		if m.Claimed {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == nil {
		p.own = map[model.StackID]struct{}{}
	}
	p.own[s.ID] = struct{}{}
}

// ended notes whether a run of a stack carried everything out. One that is over is forgotten.
func (p *past) ended(out Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if out.Err != nil || !out.Done || out.Over() {
		delete(p.finished, out.ID)
		return
	}
	if p.finished == nil {
		p.finished = map[model.StackID]struct{}{}
	}
	p.finished[out.ID] = struct{}{}
}

// unfinished reports whether the last run of a stack was not carried out in full, as far as this process
// can say.
func (p *past) unfinished(id model.StackID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.finished[id]
	return !ok
}

// since is when the listings must have been made at the earliest from which a stack is taken for
// gone; zero: at any time.
func (p *past) since(s model.Stack, now time.Time) time.Time {
	if now.IsZero() || !s.Empty() || len(s.Leaving) == 0 {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.own[s.ID]; ok {
		return time.Time{}
	}
	return p.begun.Add(settleWindow)
}

// holds says for how long a step that lets a stack go for good has to wait.
func (p *past) holds(s model.Stack, do plan.Action, now time.Time) time.Duration {
	if _, ok := do.(plan.ReleaseFinalizer); !ok {
		return 0
	}
	since := p.since(s, now)
	if since.IsZero() {
		return 0
	}
	return max(since.Sub(now), 0)
}
