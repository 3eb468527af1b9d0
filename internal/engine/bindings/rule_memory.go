package bindings

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ruleMemory is what a process remembers of rules.
type ruleMemory struct {
	token    chan struct{} // holds one: who has it may change rules
	planning chan struct{} // likewise, while these changes are planned

	memory *memory // which has the rules of each binding

	mu       sync.Mutex
	epoch    int             // see currentEpoch
	changing bool            // rules are being changed
	groups   map[string]bool // security groups that have carried rules

	nodes map[string]*bindingplan.NodeGroups // by selector
}

func newRuleMemory(of *memory) *ruleMemory {
	return &ruleMemory{memory: of, token: make(chan struct{}, 1), planning: make(chan struct{}, 1), groups: map[string]bool{}, nodes: map[string]*bindingplan.NodeGroups{}}
}

// nodesOf are the security groups of the nodes that a selector takes, as they were found last; nil if none were.
func (m *ruleMemory) nodesOf(selector string) *bindingplan.NodeGroups {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes[selector]
}

// mostSelectors bounds the selectors that are remembered: they are what users choose.
const mostSelectors = 32

func (m *ruleMemory) noteNodes(selector string, g *bindingplan.NodeGroups) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.nodes) >= mostSelectors && m.nodes[selector] == nil {
		clear(m.nodes)
	}
	m.nodes[selector] = g
}

// forgetNodes is for when the security groups of nodes may be others.
func (m *ruleMemory) forgetNodes() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.nodes)
}

// noteOpened remembers the rules of a binding that are there. It does nothing if the epoch is over in which they were found.
func (m *ruleMemory) noteOpened(key Key, o openedRules, epoch int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch == epoch {
		m.memory.note(key, noteOpened(o))
	}
}

// forget is for a binding whose rules are about to be taken away.
func (m *ruleMemory) forget(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memory.noteKnown(key, noteNotOpened)
	m.epoch++
}

// currentEpoch identifies a time during which no rule was changed by this process and none was forgotten; below
// zero while rules are being changed.
func (m *ruleMemory) currentEpoch() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changing {
		return -1
	}
	return m.epoch
}

// beginChange waits for the run that changes rules, if there is one, and begins the next epoch, in which rules are planned
// until endPlanning and changed until end is called.
func (m *ruleMemory) beginChange(ctx context.Context) (epoch int, end func(), err error) {
	select {
	case m.token <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	m.planning <- struct{}{} // every other holder returns it at once
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	m.changing = true
	return m.epoch, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changing = false
		<-m.token
	}, nil
}

// endPlanning forgets the rules of bindings that asked for less when the changes were planned, as some of theirs may be taken
// away, and returns these bindings in order.
func (m *ruleMemory) endPlanning(known map[Key]bindingplan.RuleSet) (forgotten []Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, rules := range known {
		if o := m.memory.get(key).opened; o != nil && !o.rules.Within(rules) {
			m.memory.noteKnown(key, noteNotOpened)
			forgotten = append(forgotten, key)
		}
	}
	<-m.planning
	slices.SortFunc(forgotten, func(a, b Key) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) })
	return forgotten
}

// longestPlanning is how long a run waits for another that plans, and may wait for AWS meanwhile. Then it relies on what is
// remembered: to register targets late would be worse.
const longestPlanning = 2 * time.Second

// awaitPlanning waits while another run plans changes, from a view that may be older than the caller's.
func (m *ruleMemory) awaitPlanning(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, longestPlanning)
	defer cancel()
	select {
	case m.planning <- struct{}{}:
		<-m.planning
		return nil
	case <-soon.Done():
		return ctx.Err()
	}
}

// noteAll remembers the rules of all bindings that a computation has found, so that the first run over
// each of them need not repeat it. It does nothing if the epoch is over, because then the rules may not be
// there any more, and reports whether it lasts. A binding with old targets that serve on is left out, as their rules are
// still to go.
func (m *ruleMemory) noteAll(all map[Key]bindingplan.RuleSet, epoch int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch != epoch {
		return false
	}
	for key, rules := range all {
		m.memory.note(key, noteFoundOpened(rules))
	}
	return true
}

// remember adds the security groups to those that have carried rules, and returns all of them. One may
// lack the tag by which the cluster's groups are found.
func (m *ruleMemory) remember(asked map[string][]model.IngressRule) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for g := range asked {
		m.groups[g] = true
	}
	return slices.Sorted(maps.Keys(m.groups))
}
