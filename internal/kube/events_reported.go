package kube

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// eventFilter decides which events are written. A warning is written once per object, and its event is updated while the
// warning lasts, since Kubernetes deletes an event after an hour. A new event of the same warning is written only after a
// normal event about the object, because that ends its warnings. Normal events are always written, because they are created
// only for changes.
type eventFilter struct {
	mu              sync.Mutex
	histories       map[types.UID]*eventHistory
	lastingWarnings map[string][]lastingWarning // by cluster.LastingWarnings.Subject or fightSubject
}

// eventHistory holds the warnings that were written about an object.
type eventHistory struct {
	hourStart time.Time // start of the hour in which writes are counted
	writes    int       // writes since hourStart
	records   map[eventKey]*eventRecord
}

// eventKey identifies an event of an object. Events with the same key are not written twice.
type eventKey struct{ reason, message string }

// eventRecord describes an Event object that was written.
type eventRecord struct {
	name        string
	count       int32
	first, last time.Time
}

// lastingWarning is a warning whose cause has not ended.
type lastingWarning struct {
	uid types.UID
	ev  cluster.Event
	key eventKey
	// outlivesSuccess is set if a normal event does not end the warning. It is about the writes of an object, and runs may
	// succeed while other clients undo the writes.
	outlivesSuccess bool
}

// requestIDPattern matches the request ID in an error of AWS, which differs in each answer.
var requestIDPattern = regexp.MustCompile(`(?i)request ?id: ?[0-9a-f-]{8,}`)

const (
	// maxRememberedObjects bounds the objects whose events or writes are remembered. If there are more, all are forgotten,
	// and events are written again.
	maxRememberedObjects = 20000
	// maxWarningsPerObject is the maximum number of warnings that are written about one object within an hour. One
	// annotation can have thousands of faults, each of which is a warning.
	maxWarningsPerObject = 32
)

// repeatEventAfter returns the time after which the event of a lasting warning is emitted again, before the API server
// deletes it.
func repeatEventAfter() time.Duration { return durations.EventRetention * 2 / 3 }

// recordNewEvent records an event that is about to be written, and returns the event and its record; false if it must not be
// written.
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
		return ev, eventRecord{}, false // RepeatEvents updates the existing event
	}
	if len(h.records) >= maxWarningsPerObject || h.writes >= maxWarningsPerObject {
		return ev, eventRecord{}, false
	}
	if len(h.records) == maxWarningsPerObject-1 {
		ev = overflowEvent(ev.Ref)
	}
	r := &eventRecord{count: 1, first: at, last: at}
	h.records[eventKeyOf(ev)] = r
	h.writes++
	return ev, *r, true
}

// rotateHour starts a new hour of writes if the last one is over.
func (h *eventHistory) rotateHour(at time.Time) {
	if at.Sub(h.hourStart) >= durations.EventRetention {
		h.hourStart, h.writes = at, 0
	}
}

// prune removes the records of events that the API server has deleted, because they were last written
// durations.EventRetention ago or earlier.
func (h *eventHistory) prune(at time.Time) {
	for k, r := range h.records {
		if at.Sub(r.last) >= durations.EventRetention {
			delete(h.records, k)
		}
	}
}

// overflowEvent returns the event that replaces all events of an object above maxWarningsPerObject.
func overflowEvent(ref cluster.Ref) cluster.Event {
	reason := string(finding.MoreFindings)
	return cluster.Event{Ref: ref, Warning: true, Reason: reason,
		Message: reason + ": this object has more findings than events are written for; correct the findings in the other events, or list all findings with fulcrum plan"}
}

// eventKeyOf returns the key of an event. The request ID of AWS is not part of it.
func eventKeyOf(ev cluster.Event) eventKey {
	text := ev.Message
	if strings.Contains(strings.ToLower(text), "request") { // few messages have a request ID, and the regular expression is slow
		text = requestIDPattern.ReplaceAllString(text, "")
	}
	return eventKey{ev.Reason, text}
}

// recordName records the name of the Event object that was written for a warning.
func (e *eventFilter) recordName(uid types.UID, key eventKey, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.recordOf(uid, key); r != nil {
		r.name = name
	}
}

// recordOf returns the record of a warning, nil if there is none. The caller holds the lock.
func (e *eventFilter) recordOf(uid types.UID, key eventKey) *eventRecord {
	if h := e.histories[uid]; h != nil {
		return h.records[key]
	}
	return nil
}

// forgetWarnings forgets the warnings about an object after a normal event, so that they are written if they occur again. It
// retains the keys in lasting, and warnings that outlive a success.
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
	if h.records = retained; len(retained) == 0 {
		delete(e.histories, uid)
	}
}

// removeRecord removes the record of an event that could not be written.
func (e *eventFilter) removeRecord(uid types.UID, ev cluster.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.histories[uid]; h != nil {
		delete(h.records, eventKeyOf(ev))
	}
}

// recordLasting replaces the lasting warnings of a subject. The warnings of an object above maxWarningsPerObject are
// recorded as one.
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

// dueWarning is a lasting warning whose event has to be emitted again, with the record of the event.
type dueWarning struct {
	lastingWarning
	eventRecord
}

// takeDueWarnings returns up to limit lasting warnings whose events have to be emitted now, and counts them as emitted.
func (e *eventFilter) takeDueWarnings(at time.Time, limit int) (out []dueWarning) {
	e.mu.Lock()
	defer e.mu.Unlock()
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

// countEmission counts a lasting warning as emitted and returns its record; nil if its event does not have to be emitted now.
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
	if r == nil { // the object had maxWarningsPerObject warnings before
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

// retryEmission makes a warning due again after durations.SweepInterval, because its event could not be written.
func (e *eventFilter) retryEmission(due dueWarning) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.recordOf(due.uid, due.key); r != nil {
		r.count, r.last = r.count-1, due.last.Add(durations.SweepInterval-repeatEventAfter())
	}
}
