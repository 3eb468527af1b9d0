package fault

import (
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Call describes a call by the properties on which its faults may depend. All numbers count from 1 since the emulator was
// created, or since the last Reset of the set.
type Call struct {
	Service, Operation string
	Account, Region    string
	// Mutating is false for Describe, Get, List, Search and all of STS.
	Mutating bool
	// Unfiltered is set for a describe call without filter, identifiers and paging.
	Unfiltered bool
	// Number counts the calls of this operation, Sequence all calls, and Mutation the mutating calls (0 for a
	// read).
	Number, Sequence, Mutation int
	// Input is the decoded input of the call, for hooks to read.
	Input any
	Time  time.Time
}

// Action describes the faults to inject into a call. The zero value injects none.
type Action struct {
	// Error fails the call before it has any effect.
	Error *store.Error `json:",omitempty"`
	// Throttle fails the call with the throttling error of its service.
	Throttle bool `json:",omitempty"`
	// Latency passes before the call takes effect.
	Latency time.Duration `json:",omitempty"`
	// Reset closes the connection before the call has any effect.
	Reset bool `json:",omitempty"`
	// Hang sends no answer until the caller closes the connection. The call has no effect, unless Lose is set too.
	Hang bool `json:",omitempty"`
	// Deny fails the call with the error of its service for a caller without the permission.
	Deny bool `json:",omitempty"`
	// Lose lets the call take effect and closes the connection instead of
	// answering.
	Lose bool `json:",omitempty"`
	// Stale makes a read return the state as it was this long ago. See Set.KeepHistory.
	Stale time.Duration `json:",omitempty"`
	// Distort changes members of the answer, but not the state.
	Distort []Distortion `json:",omitempty"`
	// After is called when the call has taken effect or has failed, before the answer is sent. It must not block.
	After func() `json:"-"`
}

func (a Action) fails() bool {
	return a.Error != nil || a.Throttle || a.Deny || a.Reset || a.Lose || a.Hang
}

// Hook returns the faults of a call. It runs without the state lock, from the goroutine that serves the call, and
// must not block.
type Hook func(Call) Action

// Rule applies an action to the calls that match it.
type Rule struct {
	// Service and Operation are patterns as of path.Match; an empty pattern matches any.
	Service, Operation string
	// MutatingOnly skips reads.
	MutatingOnly bool `json:",omitempty"`
	// Skip is the number of matching calls to which the action does not apply at first. After them, the action applies to
	// Count calls, or to all calls if Count is 0.
	Skip, Count int
	Action      Action

	matchCount int
}

// Set contains the rules, the hook and the limits that determine the faults of an emulator. It is safe for concurrent use.
type Set struct {
	mu              sync.Mutex
	hook            Hook
	rules           []*Rule
	limits          Limits
	bucketLevels    map[bucketKey]*bucketLevel
	callNumbers     map[string]int
	sequence        int
	mutation        int
	throttledCounts map[string]int
	history         time.Duration
}

// NewSet returns a set without faults.
func NewSet() *Set {
	s := &Set{}
	s.Reset()
	return s
}

// Reset removes all faults and restarts counting.
func (s *Set) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook, s.rules, s.limits, s.history = nil, nil, Limits{}, 0
	s.bucketLevels = map[bucketKey]*bucketLevel{}
	s.callNumbers = map[string]int{}
	s.throttledCounts = map[string]int{}
	s.sequence, s.mutation = 0, 0
}

// SetHook installs the hook; nil removes it. The numbers in Call restart, so that a
// hook can count calls from its installation.
func (s *Set) SetHook(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = h
	s.callNumbers, s.sequence, s.mutation = map[string]int{}, 0, 0
}

// Add appends a rule. The actions of matching rules are combined, and their latencies added, up to the first one that fails
// the call; later rules are ignored.
func (s *Set) Add(r Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &r)
	s.history = max(s.history, r.Action.Stale)
}

// Rules returns a copy of the installed rules.
func (s *Set) Rules() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Rule, 0, len(s.rules))
	for _, r := range s.rules {
		out = append(out, *r)
	}
	return out
}

// ClearRules removes the rules. It does not change hook and limits.
func (s *Set) ClearRules() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// SetLimits installs token buckets, all of them full.
func (s *Set) SetLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
	s.bucketLevels = map[bucketKey]*bucketLevel{}
}

// Limits returns the installed token buckets.
func (s *Set) Limits() Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits
}

// ThrottledCalls counts the calls that were throttled so far, by service and
// operation ("ec2:DescribeSubnets").
func (s *Set) ThrottledCalls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.throttledCounts)
}

// KeepHistory makes the emulator store past states for a duration. A hook that returns Stale needs it before the
// first stale read. Rules with Stale do not need it.
func (s *Set) KeepHistory(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = max(s.history, d)
}

// HistoryDuration returns the duration for which past states are stored; 0 means that none are stored.
func (s *Set) HistoryDuration() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history
}

// Decide counts a call and returns the fault to inject. The caller sets all fields except the numbers. For a
// throttled call, Error is set.
func (s *Set) Decide(c Call) Action {
	s.mu.Lock()
	name := c.Service + ":" + c.Operation
	s.sequence++
	s.callNumbers[name]++
	c.Sequence, c.Number = s.sequence, s.callNumbers[name]
	if c.Mutating {
		s.mutation++
		c.Mutation = s.mutation
	}
	out := Action{Throttle: s.overLimit(c)}
	for _, r := range s.rules {
		if !out.fails() && r.matchAndCount(c) {
			out = mergeActions(out, r.Action)
		}
	}
	hook := s.hook
	s.mu.Unlock()

	if hook != nil && !out.fails() {
		out = mergeActions(out, hook(c))
	}
	if out.Deny && !out.Throttle {
		out.Error = DenialError(c.Service, c.Operation)
	}
	if out.Throttle {
		out.Error = ThrottlingError(c.Service)
		s.mu.Lock()
		s.throttledCounts[name]++
		s.mu.Unlock()
	}
	return out
}

func mergeActions(a, b Action) Action {
	b.Latency += a.Latency
	b.Stale = max(a.Stale, b.Stale)
	b.Distort = append(slices.Clone(a.Distort), b.Distort...)
	if b.After == nil {
		b.After = a.After
	}
	return b
}

func (r *Rule) matchAndCount(c Call) bool {
	if r.MutatingOnly && !c.Mutating || !matchesPattern(r.Service, c.Service) || !matchesPattern(r.Operation, c.Operation) {
		return false
	}
	r.matchCount++
	return r.matchCount > r.Skip && (r.Count == 0 || r.matchCount <= r.Skip+r.Count)
}

func matchesPattern(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}
