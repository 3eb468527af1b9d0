package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// firstRefusal is for how long a target that AWS refuses is not sent again, whatever else changes. It
// doubles with each refusal, up to patience.
const firstRefusal = 15 * time.Second

// refusedTarget is a target that AWS has refused and would refuse again.
type refusedTarget struct {
	err   error // of AWS
	run   error // as the run told it
	until time.Time
	delay time.Duration
}

// noteRefused remembers that AWS has refused endpoints, where only a change of input helps, and with
// which error the run ends for that.
func (p *pass) noteRefused(list []targets.Endpoint, err, run error) {
	switch p.r.Cloud.Class(err) {
	case engine.Invalid, engine.Denied:
	default:
		return
	}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	all := p.r.refused[p.key]
	if all == nil {
		all = map[string]refusedTarget{}
		p.r.refused[p.key] = all
	}
	for _, e := range list {
		delay := min(max(2*all[e.Identity()].delay, firstRefusal), patience)
		all[e.Identity()] = refusedTarget{err, run, p.r.Now().Add(delay), delay}
	}
}

// tryable returns the endpoints that may be sent to AWS now, notes the others as refused, and returns
// why. Otherwise a target that AWS refuses would cost calls with each change of another.
func (p *pass) tryable(list []targets.Endpoint) (try []targets.Endpoint, failed error) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	all := p.r.refused[p.key]
	if len(all) == 0 {
		return list, nil
	}
	wanted := map[string]bool{}
	for _, e := range list {
		wanted[e.Identity()] = true
		if old, ok := all[e.Identity()]; ok && p.r.Now().Before(old.until) {
			p.refused = append(p.refused, refusal{[]targets.Endpoint{e}, old.err})
			failed = old.run // the same text as before, so that it is not written again
			if left := old.until.Sub(p.r.Now()); p.untried == 0 || left < p.untried {
				p.untried = left
			}
			continue
		}
		try = append(try, e)
	}
	for id := range all {
		if !wanted[id] {
			delete(all, id)
		}
	}
	return try, failed
}
