package fault

import (
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Call contains the properties of a call on which its faults can depend. The numbers count from 1. They restart if Reset or
// SetHook of the set is called.
type Call struct {
	Service, Operation string
	Account, Region    string
	// Mutating is false for read operations (Describe, Get, List, Search and Simulate) and for all operations of STS.
	Mutating bool
	// Unfiltered is set for a request without any member except DryRun, such as a describe call without filters, identifiers
	// and paging.
	Unfiltered bool
	// Number is the number of the call among the calls of this operation, Sequence among all calls, and Mutation among all
	// mutating calls. Mutation is 0 for a read.
	Number, Sequence, Mutation int
	// Input is the decoded input of the call. Hooks must not change it.
	Input any
	Time  time.Time
}

// Action contains the faults to inject into a call. The zero value injects none.
type Action struct {
	// Error fails the call before it has any effect.
	Error *store.Error `json:",omitempty"`
	// Throttle fails the call with the throttling error of the service.
	Throttle bool `json:",omitempty"`
	// Latency is the time that the emulator waits before the call takes effect.
	Latency time.Duration `json:",omitempty"`
	// Reset closes the connection before the call has any effect.
	Reset bool `json:",omitempty"`
	// Hang sends no response and waits until the client closes the connection. The call has no effect, unless Lose is
	// also set.
	Hang bool `json:",omitempty"`
	// Deny fails the call with the error of the service for a missing permission.
	Deny bool `json:",omitempty"`
	// Lose lets the call take effect, but closes the connection without a response.
	Lose bool `json:",omitempty"`
	// Stale makes a read return the state at this time before the call. See Set.RetainHistory.
	Stale time.Duration `json:",omitempty"`
	// Distort changes members of the response, but not the state.
	Distort []Distortion `json:",omitempty"`
	// After is called after the call has taken effect or has failed, and before the response is sent. It must not block.
	After func() `json:"-"`
}

func (a Action) failsCall() bool {
	return a.Error != nil || a.Throttle || a.Deny || a.Reset || a.Lose || a.Hang
}

// Hook returns the faults of a call. It is called without the lock of the emulator state, in the goroutine that serves the
// call. It must not block.
type Hook func(Call) Action

// Rule applies an action to the calls that match it.
type Rule struct {
	// Service and Operation are patterns in the syntax of path.Match. An empty pattern matches all.
	Service, Operation string
	// MutatingOnly makes the rule ignore reads.
	MutatingOnly bool `json:",omitempty"`
	// Skip is the number of matching calls before the first call to which the action applies. Count is the number of calls
	// to which it applies, or 0 for all further calls.
	Skip, Count int
	Action      Action

	matchCount int
}

// Set contains the rules, the hook and the rate limits that determine the faults of an emulator. It is safe for concurrent
// use.
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

// Reset removes the rules, the hook, the limits and the history duration. It restarts the numbers in Call and the counts of
// ThrottledCalls.
func (s *Set) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook, s.rules, s.limits, s.history = nil, nil, Limits{}, 0
	s.bucketLevels = map[bucketKey]*bucketLevel{}
	s.callNumbers = map[string]int{}
	s.throttledCounts = map[string]int{}
	s.sequence, s.mutation = 0, 0
}

// SetHook installs a hook, or removes it if h is nil. It restarts the numbers in Call, so that a hook can count calls since
// its installation.
func (s *Set) SetHook(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = h
	s.callNumbers, s.sequence, s.mutation = map[string]int{}, 0, 0
}

// Add appends a rule. If several rules match a call, their actions are combined and their latencies are added. Rules after
// the first one that fails the call are ignored.
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

// ClearRules removes all rules. It does not change the hook and the limits.
func (s *Set) ClearRules() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// SetLimits replaces the token buckets. The new buckets are full.
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

// ThrottledCalls returns the number of throttled calls by service and operation, such as "ec2:DescribeSubnets".
func (s *Set) ThrottledCalls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.throttledCounts)
}

// RetainHistory makes the emulator keep earlier states for at least the duration d. It must be called before a hook returns
// Stale. Rules with Stale do not need it.
func (s *Set) RetainHistory(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = max(s.history, d)
}

// HistoryDuration returns how long the emulator keeps earlier states. If it is 0, the emulator keeps none.
func (s *Set) HistoryDuration() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history
}

// Decide counts a call and returns its faults. The caller sets all fields of c except the numbers. For a throttled or denied
// call, Error is set in the result.
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
	out := Action{Throttle: s.takeTokens(c)}
	for _, r := range s.rules {
		if !out.failsCall() && r.matchAndCount(c) {
			out = mergeActions(out, r.Action)
		}
	}
	hook := s.hook
	s.mu.Unlock()

	if hook != nil && !out.failsCall() {
		out = mergeActions(out, hook(c))
	}
	if out.Deny && !out.Throttle {
		out.Error = AccessDeniedError(c.Service, c.Operation)
	}
	if out.Throttle {
		out.Error = ThrottlingError(c.Service)
		s.mu.Lock()
		s.throttledCounts[name]++
		s.mu.Unlock()
	}
	return out
}

// mergeActions returns the combination of two actions: the sum of the latencies, the longer Stale, and the distortions of
// both. After is the function of b, or that of a if b has none.
func mergeActions(a, b Action) Action {
	b.Latency += a.Latency
	b.Stale = max(a.Stale, b.Stale)
	b.Distort = append(slices.Clone(a.Distort), b.Distort...)
	if b.After == nil {
		b.After = a.After
	}
	return b
}

// matchAndCount reports whether the action of the rule applies to a call. It counts the call if the rule matches it.
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
