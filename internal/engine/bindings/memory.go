package bindings

import (
	"fmt"
	"hash/fnv"
	"maps"
	"sync"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// memory is what a process remembers of bindings, by binding.
type memory struct {
	now               func() time.Time
	firstLook, resync time.Duration

	mu       sync.Mutex
	worded   map[Key]time.Time                 // when the text of a fault was last written
	due      map[Key]time.Time                 // next comparison with AWS of an unchanged binding
	missing  map[Key]time.Time                 // since when a backend has not been seen
	serving  map[Key]bool                      // bindings with old targets that serve on for now
	zoned    map[Key]time.Time                 // when AWS asked for the zones of targets
	fillings map[Key]*filling                  // what was registered for each binding
	crowds   map[Key]crowd                     // what did not fit into target groups
	done     map[Key]string                    // the checkpoint that was set last
	written  map[Key]writtenCheckpoints        // the annotations for that
	refused  map[Key]map[string]refusedTarget  // by identity
	letGo    map[Key]bool                      // bindings that let go in order
	left     map[Key]*elbv2.TargetGroupBinding // that went while their groups were in use
	toReport map[Key]bool                      // bindings whose change of AWS is not reported yet, as a call waited
	leaving  map[Key]map[string]time.Time      // since when targets wait for their turn to be taken out, by id
	outdated map[Key]bool                      // bindings whose run under way may have compared too early
}

func newMemory(c Config) *memory {
	return &memory{
		now: c.Now, firstLook: c.FirstLook, resync: c.Resync,
		worded: map[Key]time.Time{}, due: map[Key]time.Time{}, missing: map[Key]time.Time{}, serving: map[Key]bool{}, zoned: map[Key]time.Time{},
		fillings: map[Key]*filling{}, crowds: map[Key]crowd{}, done: map[Key]string{}, written: map[Key]writtenCheckpoints{}, refused: map[Key]map[string]refusedTarget{},
		letGo: map[Key]bool{}, left: map[Key]*elbv2.TargetGroupBinding{}, toReport: map[Key]bool{}, leaving: map[Key]map[string]time.Time{}, outdated: map[Key]bool{},
	}
}

// of is what a plan needs of the memory.
func (m *memory) of(key Key) bindingplan.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	out := bindingplan.Memory{LetGo: m.letGo[key], Unreported: m.toReport[key], Reworded: m.worded[key]}
	at, known := m.due[key]
	if out.Known = known; !known {
		at = m.firstDue(key)
	}
	out.DueIn = at.Sub(now)
	out.Done, out.HasDone = m.done[key]
	if since, ok := m.missing[key]; ok {
		out.AbsentFor = now.Sub(since)
	}
	if f := m.fillings[key]; f != nil {
		out.Registered = f.registered
	}
	if all := m.refused[key]; len(all) > 0 {
		out.Refused = make(map[string]bindingplan.RefusedTarget, len(all))
		for id, t := range all {
			out.Refused[id] = t.RefusedTarget
		}
	}
	return out
}

// isMissing reports whether the runs over a binding believe that its Service does not exist.
func (m *memory) isMissing(key Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	since, missing := m.missing[key]
	return m.letGo[key] || missing && m.now().Sub(since) >= bindingplan.AbsenceDelay
}

// firstDue is when a binding is compared with AWS first, though it did not change. The lock is held.
func (m *memory) firstDue(key Key) time.Time {
	return m.now().Add(min(m.firstLook+spread(key, m.firstLook/2), m.resyncAfter(key)))
}

func (m *memory) resyncAfter(key Key) time.Duration {
	return engine.ResyncAfter(m.resync, key.String())
}

// note remembers what a step of a plan says.
func (m *memory) note(key Key, b *elbv2.TargetGroupBinding, n bindingplan.Note) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch n {
	case bindingplan.Known:
		if _, ok := m.due[key]; !ok {
			m.due[key] = m.firstDue(key)
		}
	case bindingplan.BackendMissing:
		if _, ok := m.missing[key]; !ok {
			m.missing[key] = m.now()
		}
	case bindingplan.BackendSeen:
		delete(m.missing, key)
		delete(m.letGo, key)
	case bindingplan.OldServe:
		m.serving[key] = true
	case bindingplan.NoOldServe:
		delete(m.serving, key)
	case bindingplan.Left:
		m.left[key] = b
	case bindingplan.LetGo:
		// Two that go at the same time each see the other's rules as wanted, so these are looked at once more
		// when it is gone.
		m.letGo[key] = true
		delete(m.missing, key)
	case bindingplan.Compared:
		delete(m.leaving, key)
		m.due[key] = m.now()
		if !m.outdated[key] {
			m.due[key] = m.now().Add(m.resyncAfter(key))
		}
	case bindingplan.Unreported:
		m.toReport[key] = true
	case bindingplan.Reported:
		delete(m.toReport, key)
	case bindingplan.Forgotten:
		m.forget(key)
	}
}

// forget drops all of a binding. The lock is held.
func (m *memory) forget(key Key) {
	delete(m.worded, key)
	delete(m.due, key)
	delete(m.missing, key)
	delete(m.serving, key)
	delete(m.zoned, key)
	delete(m.left, key)
	delete(m.letGo, key)
	delete(m.toReport, key)
	delete(m.leaving, key)
	delete(m.outdated, key)
	delete(m.fillings, key)
	delete(m.crowds, key)
	delete(m.done, key)
	delete(m.written, key)
	delete(m.refused, key)
}

// dueIn is how long an unchanged binding may still be left alone.
func (m *memory) dueIn(key Key) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.due[key].Sub(m.now())
}

func (m *memory) noteDone(key Key, checkpoint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done[key] = checkpoint
}

// compareNow lets the next run over a binding compare it with AWS, whatever it asks for and whatever a run that is under
// way has compared.
func (m *memory) compareNow(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outdated[key] = true
	if _, ok := m.due[key]; ok {
		m.due[key] = m.now()
	}
}

// lastKnown is a binding that is not there any more as it was last seen, nil if it is not known.
func (m *memory) lastKnown(key Key) *elbv2.TargetGroupBinding {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.left[key]; b != nil {
		return b
	}
	if f := m.fillings[key]; f != nil {
		return f.binding
	}
	return nil
}

// anyServing reports whether old targets of any binding serve on, which need their rules although they are not
// endpoints any more.
func (m *memory) anyServing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.serving) > 0
}

func (m *memory) isServing(key Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.serving[key]
}

func (m *memory) noteReworded(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.worded[key] = m.now()
}

// noteLeaving remembers the targets of a binding that wait to be taken out, and forgets those that do not any more.
func (m *memory) noteLeaving(key Key, list []*observed.Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since := map[string]time.Time{}
	for _, t := range list {
		since[t.ID] = m.now()
		if was, ok := m.leaving[key][t.ID]; ok {
			since[t.ID] = was
		}
	}
	m.leaving[key] = since
}

// leavingSince is since when targets of a binding wait to be taken out, by id.
func (m *memory) leavingSince(key Key) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.leaving[key])
}

// zonesKept is how long it is remembered that AWS wants the zones of a binding's targets.
const zonesKept = time.Hour

// wantsZones reports whether AWS has asked for the zones of a binding's targets.
func (m *memory) wantsZones(key Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.zoned[key]
	return ok && m.now().Sub(at) < zonesKept
}

func (m *memory) noteZones(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.zoned[key] = m.now()
}

// spread is a part of the span that depends on the key alone, so that bindings do not come at once.
func spread(key Key, span time.Duration) time.Duration {
	h := fnv.New32a()
	fmt.Fprint(h, key.String())
	return time.Duration(float64(span) * float64(h.Sum32()) / float64(1<<32))
}
