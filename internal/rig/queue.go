package rig

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// key is an item of work: a stack or a binding.
type key struct {
	stack   model.StackID
	binding bindings.Key
}

func (k key) String() string {
	if k.binding != (bindings.Key{}) {
		return "binding " + k.binding.String()
	}
	return string(k.stack.Kind) + " " + k.stack.String()
}

// queue holds when each item is due. Bindings go first among equals, then whatever came first.
type queue struct {
	items    []item
	failures map[key]int
}

type item struct {
	key key
	due time.Time
}

// add makes an item due; one that is due earlier stays so.
func (q *queue) add(k key, due time.Time) {
	for i := range q.items {
		if q.items[i].key == k {
			if due.Before(q.items[i].due) {
				q.items[i].due = due
			}
			return
		}
	}
	q.items = append(q.items, item{k, due})
}

func (q *queue) next() (key, time.Time, bool) {
	best := -1
	for i, it := range q.items {
		if best < 0 || it.due.Before(q.items[best].due) {
			best = i
		}
	}
	if best < 0 {
		return key{}, time.Time{}, false
	}
	return q.items[best].key, q.items[best].due, true
}

func (q *queue) take(k key) {
	for i := range q.items {
		if q.items[i].key == k {
			q.items = append(q.items[:i], q.items[i+1:]...)
			return
		}
	}
}

// backOff doubles the wait with each failure in a row, from 5 ms to 1000 s.
func (q *queue) backOff(k key) time.Duration {
	if q.failures == nil {
		q.failures = map[key]int{}
	}
	d := 5 * time.Millisecond << min(q.failures[k], 18)
	q.failures[k]++
	return min(d, 1000*time.Second)
}

func (q *queue) forgive(k key) { delete(q.failures, k) }
