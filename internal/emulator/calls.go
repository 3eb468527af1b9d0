package emulator

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxLogEntries is the maximum number of calls in the log. The counts include all calls, also those that are no longer in
// the log.
const maxLogEntries = 100_000

// Entry is one call in the log.
type Entry struct {
	Sequence  int
	Time      time.Time
	Service   string // signing name
	Operation string
	Account   string `json:",omitempty"`
	Region    string
	AccessKey string `json:",omitempty"`
	Mutating  bool
	RequestID string
	// Input is the SDK's input structure, nil if it could not be decoded.
	Input any `json:",omitempty"`
	// Status, Code and Message are the HTTP status, the error code and the error message of the answer. Code is empty if
	// the call succeeded.
	Status        int
	Code, Message string `json:",omitempty"`
	// IsEmulatorError is true if AWS would not return the error: the emulator does not support the request.
	IsEmulatorError bool `json:"-"`
	// Fault is the fault that was injected: "throttled", "error", "reset", "hung", "lost", "stale", "distorted" or
	// "abandoned". It is "no such host" for a call to a host that does not exist.
	Fault string `json:",omitempty"`
}

// Calls is the log of all calls. It is safe for concurrent use.
type Calls struct {
	mu       sync.Mutex
	sequence int
	entries  []Entry
	counts   map[string]int
	mutating int
}

func newCalls() *Calls { return &Calls{counts: map[string]int{}} }

func (c *Calls) add(e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sequence++
	e.Sequence = c.sequence
	c.counts[e.Service+":"+e.Operation]++
	if e.Mutating {
		c.mutating++
	}
	if len(c.entries) >= maxLogEntries {
		c.entries = slices.Delete(c.entries, 0, maxLogEntries/10)
	}
	c.entries = append(c.entries, e)
}

// Total returns the number of all calls since the last Reset.
func (c *Calls) Total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sequence
}

// CountMutating returns the number of mutating calls, including rejected calls, since the last Reset.
func (c *Calls) CountMutating() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mutating
}

// Count returns the number of calls of an operation since the last Reset. operation is "CreateRule" for all services, or
// "elasticloadbalancing:CreateRule" for one service.
func (c *Calls) Count(operation string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for name, count := range c.counts {
		_, op, _ := strings.Cut(name, ":")
		if name == operation || op == operation {
			n += count
		}
	}
	return n
}

// Counts returns how often each operation was called since the last Reset, by service and name, such as
// "ec2:DescribeSubnets".
func (c *Calls) Counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// Entries returns a copy of the log, the oldest call first. The inputs are shared and must not be changed.
func (c *Calls) Entries() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.entries)
}

// Reset removes all calls from the log, and sets the counts to zero.
func (c *Calls) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sequence, c.mutating, c.entries, c.counts = 0, 0, nil, map[string]int{}
}
