package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// A target group that is full stays so until targets leave it or AWS raises the quota. What AWS has
// refused is remembered, so that a binding with more endpoints than fit does not spend the calls that
// all share: a run that is put off between two calls would begin again with what was refused before.

// crowd is what does not fit into the target group of a binding.
type crowd struct {
	arn   string
	size  int // so many targets at once, or more
	err   error
	until time.Time
}

// overfull returns what AWS said when it refused as many targets, nil if they may fit.
func (p *pass) overfull(arn string, n int) error {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	c := p.r.crowds[p.key]
	if c.arn != arn || n < c.size || !p.r.Now().Before(c.until) {
		return nil
	}
	return c.err
}

// noteSent remembers what became of a call that registers n targets.
func (p *pass) noteSent(arn string, n int, err error) {
	quota := err != nil && p.r.Cloud.Class(err) == engine.Quota
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	switch c := p.r.crowds[p.key]; {
	case quota:
		p.r.crowds[p.key] = crowd{arn: arn, size: n, err: err, until: p.r.Now().Add(patience)}
	case err == nil && c.arn == arn:
		c.size = max(1, c.size-n)
		p.r.crowds[p.key] = c
	}
}

// noteRoom forgets that the target group was full, since targets have left it.
func (p *pass) noteRoom() {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	delete(p.r.crowds, p.key)
}
