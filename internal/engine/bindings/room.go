package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/bindingplan"
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
func (m *memory) overfull(key Key, arn string, n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.crowds[key]
	if c.arn != arn || n < c.size || !m.now().Before(c.until) {
		return nil
	}
	return c.err
}

// noteSent remembers what became of a call that registers n targets.
func (m *memory) noteSent(key Key, arn string, n int, err error, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch c := m.crowds[key]; {
	case full:
		m.crowds[key] = crowd{arn: arn, size: n, err: err, until: m.now().Add(bindingplan.LongestBackOff)}
	case err == nil && c.arn == arn:
		c.size = max(1, c.size-n)
		m.crowds[key] = c
	}
}

// noteRoom forgets that the target group was full, since targets have left it.
func (m *memory) noteRoom(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.crowds, key)
}
