package harness

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// key is an item of work: a stack, a binding, or a GatewayClass or configuration of Gateways.
type key struct {
	stack   model.StackID
	binding bindings.Key
	class   cluster.Ref
	drift   bool // the drift detection
}

func (k key) String() string {
	if k.binding != (bindings.Key{}) {
		return "binding " + k.binding.String()
	}
	if k.drift {
		return "drift"
	}
	if k.class != (cluster.Ref{}) {
		return k.class.String()
	}
	return string(k.stack.Kind) + " " + k.stack.String()
}

// dueQueue orders items by the time when they are due, and then by the order in which they were added.
type dueQueue struct {
	items    items
	of       map[key]*item
	added    int
	failures map[key]int
}

type item struct {
	key   key
	due   time.Time
	added int
	at    int // index in the heap
}

// items is a heap, the next item first.
type items []*item

func (s items) Len() int { return len(s) }
func (s items) Less(i, j int) bool {
	return cmp.Or(s[i].due.Compare(s[j].due), cmp.Compare(s[i].added, s[j].added)) < 0
}
func (s items) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}
func (s *items) Push(x any) {
	it := x.(*item)
	it.at = len(*s)
	*s = append(*s, it)
}
func (s *items) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// add adds an item, or makes it due earlier.
func (q *dueQueue) add(k key, due time.Time) {
	if it := q.of[k]; it != nil {
		if due.Before(it.due) {
			it.due = due
			heap.Fix(&q.items, it.at)
		}
		return
	}
	if q.of == nil {
		q.of = map[key]*item{}
	}
	q.added++
	it := &item{key: k, due: due, added: q.added}
	q.of[k] = it
	heap.Push(&q.items, it)
}

func (q *dueQueue) next() (key, time.Time, bool) {
	if len(q.items) == 0 {
		return key{}, time.Time{}, false
	}
	return q.items[0].key, q.items[0].due, true
}

func (q *dueQueue) take(k key) {
	if it := q.of[k]; it != nil {
		heap.Remove(&q.items, it.at)
		delete(q.of, k)
	}
}

// backOff doubles the wait with each failure in a row, from 5 ms to 1000 s.
func (q *dueQueue) backOff(k key) time.Duration {
	if q.failures == nil {
		q.failures = map[key]int{}
	}
	d := 5 * time.Millisecond << min(q.failures[k], 18)
	q.failures[k]++
	return min(d, 1000*time.Second)
}

func (q *dueQueue) resetBackOff(k key) { delete(q.failures, k) }
