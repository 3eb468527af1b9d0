package kube

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// eventFilter decides which events are written. A warning about an object is written once. While the cause of the warning
// exists, its event is updated, because Kubernetes deletes an event after an hour. A normal event about the object ends its
// warnings. If an ended warning is reported again later, a new event is written. Normal events are always written, because
// they are only created for changes.
type eventFilter struct {
	mu              sync.Mutex
	histories       map[types.UID]*eventHistory
	lastingWarnings map[string][]lastingWarning // by cluster.LastingWarnings.Subject, or under undoneWriteSubject
}

// eventHistory has the warnings that were written about an object.
type eventHistory struct {
	hourStart time.Time // start of the hour in which writes are counted
	writes    int       // writes since hourStart
	records   map[eventKey]*eventRecord
}

// eventKey identifies an event of an object. No second event with the same key is written until the first event has ended.
type eventKey struct{ reason, message string }

// eventRecord has the name, count and times of an Event object that was written.
type eventRecord struct {
	name        string
	count       int32
	first, last time.Time
}

// lastingWarning is a warning that has not ended, because its cause still exists.
type lastingWarning struct {
	uid types.UID
	ev  cluster.Event
	key eventKey
	// outlivesSuccess is set if a normal event does not end the warning. Such a warning reports that other clients undo
	// writes to an object. Runs may succeed although this warning has not ended.
	outlivesSuccess bool
}

const (
	// maxRememberedObjects is the maximum number of objects whose events or writes are recorded. If this number is exceeded,
	// all records are removed, and events are written again.
	maxRememberedObjects = 20000
	// maxWarningsPerObject is the maximum number of warnings that are written about one object within an hour. One
	// annotation can have thousands of faults, each of which is a warning.
	maxWarningsPerObject = 32
)

// repeatEventAfter returns the interval at which the event of a lasting warning is updated, so that the API server does not
// delete it.
func repeatEventAfter() time.Duration { return durations.EventRetention * 2 / 3 }

// recordNewEvent records an event that is about to be written. It returns the event to write, which may be an overflowEvent,
// and its record. It returns false if no event must be written.
func (e *eventFilter) recordNewEvent(uid types.UID, ev cluster.Event, at time.Time) (cluster.Event, eventRecord, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.histories == nil || len(e.histories) > maxRememberedObjects {
		e.histories, e.lastingWarnings = map[types.UID]*eventHistory{}, map[string][]lastingWarning{}
	}
	ev.Message = eventMessage(ev.Message)
	if !ev.Warning && !ev.Once {
		return ev, eventRecord{count: 1, first: at, last: at}, true
	}
	h := e.histories[uid]
	if h == nil {
		h = &eventHistory{hourStart: at, records: map[eventKey]*eventRecord{}}
		e.histories[uid] = h
	}
	h.rotateHour(at)
	if len(h.records) >= maxWarningsPerObject {
		h.prune(at)
	}
	if h.records[eventKeyOf(ev)] != nil {
		return ev, eventRecord{}, false // the event exists, and RepeatEvents updates it
	}
	if len(h.records) >= maxWarningsPerObject || h.writes >= maxWarningsPerObject {
		return ev, eventRecord{}, false
	}
	if max(len(h.records), h.writes) == maxWarningsPerObject-1 {
		ev = overflowEvent(ev.Ref)
	}
	r := &eventRecord{count: 1, first: at, last: at}
	h.records[eventKeyOf(ev)] = r
	h.writes++
	return ev, *r, true
}

// rotateHour resets the number of writes if the counted hour has ended.
func (h *eventHistory) rotateHour(at time.Time) {
	if at.Sub(h.hourStart) >= durations.EventRetention {
		h.hourStart, h.writes = at, 0
	}
}

// prune removes the records of events that were not updated for durations.EventRetention. The API server has deleted these
// events.
func (h *eventHistory) prune(at time.Time) {
	for k, r := range h.records {
		if at.Sub(r.last) >= durations.EventRetention {
			delete(h.records, k)
		}
	}
}

// overflowEvent returns the event that replaces all warnings about object ref beyond maxWarningsPerObject.
func overflowEvent(ref cluster.Ref) cluster.Event {
	reason := string(finding.MoreFindings)
	return cluster.Event{Ref: ref, Warning: true, Reason: reason,
		Message: reason + ": this object has more findings than the controller writes events for; correct the findings in the other events, or list all findings with fulcrum plan"}
}

// eventKeyOf returns the key of an event. The key does not contain AWS request IDs.
func eventKeyOf(ev cluster.Event) eventKey {
	return eventKey{ev.Reason, failure.WithoutRequestID(ev.Message)}
}

// recordName records the name of the Event object that was written for a warning.
func (e *eventFilter) recordName(uid types.UID, key eventKey, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.recordOf(uid, key); r != nil {
		r.name = name
	}
}

// recordOf returns the record of a warning; nil if the warning was not written. The caller holds the lock.
func (e *eventFilter) recordOf(uid types.UID, key eventKey) *eventRecord {
	if h := e.histories[uid]; h != nil {
		return h.records[key]
	}
	return nil
}

// forgetWarnings removes the records of the warnings about an object, so that the warnings are written again if they occur
// again. It retains the records of warnings with a key in lasting, and of warnings that a normal event does not end.
func (e *eventFilter) forgetWarnings(uid types.UID, lasting map[eventKey]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.histories[uid]
	if h == nil {
		return
	}
	retained := map[eventKey]*eventRecord{}
	for key := range lasting {
		if r := h.records[key]; r != nil {
			retained[key] = r
		}
	}
	for _, warnings := range e.lastingWarnings {
		for _, l := range warnings {
			if r := h.records[l.key]; r != nil && l.outlivesSuccess && l.uid == uid {
				retained[l.key] = r
			}
		}
	}
	h.records = retained // the history is retained, because it counts the writes of this hour
}

// removeRecord removes the record of an event that could not be written.
func (e *eventFilter) removeRecord(uid types.UID, ev cluster.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.histories[uid]; h != nil {
		delete(h.records, eventKeyOf(ev))
		h.writes = max(h.writes-1, 0)
	}
}

// recordLasting replaces the lasting warnings of a subject. For an object with more than maxWarningsPerObject warnings, an
// overflowEvent replaces the warnings beyond this number.
func (e *eventFilter) recordLasting(subject string, warnings []lastingWarning) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []lastingWarning
	perObject := map[types.UID]int{}
	for _, l := range warnings {
		if perObject[l.uid] == maxWarningsPerObject {
			continue
		}
		if perObject[l.uid]++; perObject[l.uid] == maxWarningsPerObject {
			l.ev = overflowEvent(l.ev.Ref)
		}
		l.ev.Message = eventMessage(l.ev.Message)
		l.key = eventKeyOf(l.ev)
		out = append(out, l)
	}
	if len(out) == 0 || e.histories == nil {
		delete(e.lastingWarnings, subject)
		return
	}
	e.lastingWarnings[subject] = out
}

// dueWarning is a lasting warning whose event must be updated now, with the record of the event.
type dueWarning struct {
	lastingWarning
	eventRecord
}

// takeDueWarnings returns at most limit lasting warnings whose events must be updated now, and records that they were
// updated. It removes the histories that have no effect any more.
func (e *eventFilter) takeDueWarnings(at time.Time, limit int) (out []dueWarning) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer maps.DeleteFunc(e.histories, func(_ types.UID, h *eventHistory) bool {
		return len(h.records) == 0 && at.Sub(h.hourStart) >= durations.EventRetention
	})
	for _, warnings := range e.lastingWarnings {
		for _, l := range warnings {
			if len(out) == limit {
				return out
			}
			if r := e.countEmission(l, at); r != nil {
				out = append(out, dueWarning{l, *r})
			}
		}
	}
	return out
}

// countEmission records that the event of a lasting warning is updated now, and returns its record; nil if the event is not
// due, or if maxWarningsPerObject events of the object were already written in this hour.
func (e *eventFilter) countEmission(l lastingWarning, at time.Time) *eventRecord {
	h := e.histories[l.uid]
	if h == nil {
		return nil
	}
	r := h.records[l.key]
	if r != nil && at.Sub(r.last) < repeatEventAfter() {
		return nil
	}
	h.rotateHour(at)
	if h.writes >= maxWarningsPerObject {
		return nil
	}
	if r == nil { // the warning was not written before, because the object had maxWarningsPerObject warnings
		if len(h.records) >= maxWarningsPerObject {
			return nil
		}
		r = &eventRecord{first: at}
		h.records[l.key] = r
	}
	h.writes++
	r.count++
	r.last = at
	return r
}

// retryEmission makes a warning due after durations.SweepInterval, because its event could not be written now.
func (e *eventFilter) retryEmission(due dueWarning) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.recordOf(due.uid, due.key); r != nil {
		r.count, r.last = r.count-1, due.last.Add(durations.SweepInterval-repeatEventAfter())
		h := e.histories[due.uid]
		h.writes = max(h.writes-1, 0)
	}
}
