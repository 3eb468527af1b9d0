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

// events decides which events are written. A warning is written once per object, and raised while it
// lasts, since Kubernetes deletes an event after an hour. It is written as a new one only after a
// normal event, which shows that something has happened since. Normal events are always written,
// because they are created only for changes.
type events struct {
	mu       sync.Mutex
	reported map[types.UID]*history
	lasts    map[string][]lasting // by what they are about, as in cluster.Lasting
}

// history is what was written about an object.
type history struct {
	since    time.Time // when the present hour of writes began
	writes   int       // in it
	reported map[reported]*record
}

type reported struct{ reason, message string }

// record is one Event object.
type record struct {
	name        string
	count       int32
	first, last time.Time
}

// lasting is a warning that lasts.
type lasting struct {
	uid types.UID
	ev  cluster.Event
	key reported
	// separate is set if a normal event does not show that it is over: it is about the writes of an object, whose runs go well.
	separate bool
}

// requestID is the part of AWS's answers that differs each time.
var requestID = regexp.MustCompile(`(?i)request ?id: ?[0-9a-f-]{8,}`)

const (
	// The memory of events is bounded. Losing it costs repeated events and nothing else.
	maxRemembered = 20000
	// maxPerObject is how many warnings are written about one object within an hour. One
	// annotation can hold thousands of faults, and each would be an event.
	maxPerObject = 32
)

// emitAfter returns when the event of a warning that lasts is emitted again, before it is gone.
func emitAfter() time.Duration { return durations.EventKept * 2 / 3 }

// recordNew returns the event to write and its record, and records it; false if there is none.
func (e *events) recordNew(uid types.UID, ev cluster.Event, at time.Time) (cluster.Event, record, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reported == nil || len(e.reported) > maxRemembered {
		e.reported, e.lasts = map[types.UID]*history{}, map[string][]lasting{}
	}
	ev.Message = eventMessage(ev.Message)
	if !ev.Warning && !ev.Once {
		return ev, record{count: 1, first: at, last: at}, true
	}
	h := e.reported[uid]
	if h == nil {
		h = &history{since: at, reported: map[reported]*record{}}
		e.reported[uid] = h
	}
	h.rotateHour(at)
	if len(h.reported) >= maxPerObject {
		h.prune(at)
	}
	if h.reported[keyOf(ev)] != nil {
		return ev, record{}, false // raise writes it
	}
	if len(h.reported) >= maxPerObject || h.writes >= maxPerObject {
		return ev, record{}, false
	}
	if len(h.reported) == maxPerObject-1 {
		ev = overflow(ev.Ref)
	}
	r := &record{count: 1, first: at, last: at}
	h.reported[keyOf(ev)] = r
	h.writes++
	return ev, *r, true
}

// rotateHour starts a new hour when the present one is over.
func (h *history) rotateHour(at time.Time) {
	if at.Sub(h.since) >= durations.EventKept {
		h.since, h.writes = at, 0
	}
}

// prune removes what was not written for so long that the API server has deleted it.
func (h *history) prune(at time.Time) {
	for k, r := range h.reported {
		if at.Sub(r.last) >= durations.EventKept {
			delete(h.reported, k)
		}
	}
}

// overflow returns the event in place of all those above maxPerObject.
func overflow(ref cluster.Ref) cluster.Event {
	reason := string(finding.MoreFindings)
	return cluster.Event{Ref: ref, Warning: true, Reason: reason,
		Message: reason + ": this object has more faults than events are written for; correct those in the other events, or see all of them with fulcrum plan"}
}

func keyOf(ev cluster.Event) reported {
	text := ev.Message
	if strings.Contains(strings.ToLower(text), "request") { // few have it, and the expression costs many times as much
		text = requestID.ReplaceAllString(text, "")
	}
	return reported{ev.Reason, text}
}

// recordName records the Event object of a warning that was written.
func (e *events) recordName(uid types.UID, key reported, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.record(uid, key); r != nil {
		r.name = name
	}
}

// record returns the record of a warning, nil if there is none. The lock is held.
func (e *events) record(uid types.UID, key reported) *record {
	if h := e.reported[uid]; h != nil {
		return h.reported[key]
	}
	return nil
}

// forget lets the warnings about an object be written again, as a normal event shows that something has happened. Those of
// lasts are not over.
func (e *events) forget(uid types.UID, lasts map[reported]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.reported[uid]
	if h == nil {
		return
	}
	kept := map[reported]*record{}
	for key := range lasts {
		if r := h.reported[key]; r != nil {
			kept[key] = r
		}
	}
	for _, all := range e.lasts {
		for _, l := range all {
			if r := h.reported[l.key]; r != nil && l.separate && l.uid == uid {
				kept[l.key] = r
			}
		}
	}
	if h.reported = kept; len(kept) == 0 {
		delete(e.reported, uid)
	}
}

// unrecord removes the record of an event that could not be written.
func (e *events) unrecord(uid types.UID, ev cluster.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.reported[uid]; h != nil {
		delete(h.reported, keyOf(ev))
	}
}

// recordLasting records which warnings last; those above maxPerObject are one.
func (e *events) recordLasting(of string, all []lasting) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []lasting
	own := map[types.UID]int{}
	for _, l := range all {
		if own[l.uid] == maxPerObject {
			continue
		}
		if own[l.uid]++; own[l.uid] == maxPerObject {
			l.ev = overflow(l.ev.Ref)
		}
		l.ev.Message = eventMessage(l.ev.Message)
		l.key = keyOf(l.ev)
		out = append(out, l)
	}
	if len(out) == 0 || e.reported == nil {
		delete(e.lasts, of)
		return
	}
	e.lasts[of] = out
}

// raised is a warning that lasts, with the record of its event.
type raised struct {
	lasting
	record
}

// due counts up to most warnings that last and whose events are to be written now, and returns them.
func (e *events) due(at time.Time, most int) (out []raised) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, all := range e.lasts {
		for _, l := range all {
			if len(out) == most {
				return out
			}
			if r := e.emitAgain(l, at); r != nil {
				out = append(out, raised{l, *r})
			}
		}
	}
	return out
}

// emitAgain counts a warning that lasts, nil if it is not to be written now.
func (e *events) emitAgain(l lasting, at time.Time) *record {
	h := e.reported[l.uid]
	if h == nil {
		return nil
	}
	r := h.reported[l.key]
	if r != nil && at.Sub(r.last) < emitAfter() {
		return nil
	}
	h.rotateHour(at)
	if h.writes >= maxPerObject {
		return nil
	}
	if r == nil { // it was above maxPerObject before
		if len(h.reported) >= maxPerObject {
			return nil
		}
		r = &record{first: at}
		h.reported[l.key] = r
	}
	h.writes++
	r.count++
	r.last = at
	return r
}

// retryEmission makes a warning due again if its event could not be written.
func (e *events) retryEmission(r raised) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.record(r.uid, r.key); now != nil {
		now.count, now.last = now.count-1, r.last.Add(durations.Sweep-emitAfter())
	}
}
