package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// firstRefusal is for how long a target that AWS refuses is not sent again, whatever else changes. It
// doubles with each refusal, up to bindingplan.LongestBackOff.
const firstRefusal = 15 * time.Second

// refusedTarget is a target that AWS has refused and would refuse again.
type refusedTarget struct {
	bindingplan.RefusedTarget
	delay time.Duration
}

// noteRefused remembers that AWS has refused endpoints, where only a change of input helps.
func (m *memory) noteRefused(key Key, x bindingplan.Refusal) {
	switch x.Because.Class {
	case engine.Invalid, engine.Denied:
	default:
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.refused[key]
	if all == nil {
		all = map[string]refusedTarget{}
		m.refused[key] = all
	}
	for _, e := range x.Endpoints {
		delay := min(max(2*all[e.Identity()].delay, firstRefusal), bindingplan.LongestBackOff)
		all[e.Identity()] = refusedTarget{bindingplan.RefusedTarget{Because: x.Because, Run: x.Run, Until: m.now().Add(delay)}, delay}
	}
}

// keepRefusals forgets the refusals of other endpoints.
func (m *memory) keepRefusals(key Key, of []targets.Endpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := map[string]bool{}
	for _, e := range of {
		wanted[e.Identity()] = true
	}
	for id := range m.refused[key] {
		if !wanted[id] {
			delete(m.refused[key], id)
		}
	}
}
