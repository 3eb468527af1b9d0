package harness

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// itemKey identifies an item of the queue: a stack, a binding, a GatewayClass, a configuration of Gateways, or the
// detection of drift. Exactly one field is set.
type itemKey struct {
	stack   model.StackID
	binding bindings.Key
	class   cluster.Ref
	drift   bool // the detection of drift
}

func (k itemKey) String() string {
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
	items        items
	byKey        map[itemKey]*item
	lastSequence int
	failures     map[itemKey]int
}

type item struct {
	key       itemKey
	due       time.Time
	sequence  int
	heapIndex int // index in the heap
}

// items is a heap whose first element is the next item.
type items []*item

func (s items) Len() int { return len(s) }
func (s items) Less(i, j int) bool {
	return cmp.Or(s[i].due.Compare(s[j].due), cmp.Compare(s[i].sequence, s[j].sequence)) < 0
}
func (s items) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].heapIndex, s[j].heapIndex = i, j
}
func (s *items) Push(x any) {
	it := x.(*item)
	it.heapIndex = len(*s)
	*s = append(*s, it)
}
func (s *items) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// add adds an item that is due at the given time. An item that is already in the queue keeps the earlier of both times.
func (q *dueQueue) add(k itemKey, due time.Time) {
	if it := q.byKey[k]; it != nil {
		if due.Before(it.due) {
			it.due = due
			heap.Fix(&q.items, it.heapIndex)
		}
		return
	}
	if q.byKey == nil {
		q.byKey = map[itemKey]*item{}
	}
	q.lastSequence++
	it := &item{key: k, due: due, sequence: q.lastSequence}
	q.byKey[k] = it
	heap.Push(&q.items, it)
}

// next returns the first item and the time when it is due, and leaves it in the queue. It returns false if the queue is
// empty.
func (q *dueQueue) next() (itemKey, time.Time, bool) {
	if len(q.items) == 0 {
		return itemKey{}, time.Time{}, false
	}
	return q.items[0].key, q.items[0].due, true
}

func (q *dueQueue) remove(k itemKey) {
	if it := q.byKey[k]; it != nil {
		heap.Remove(&q.items, it.heapIndex)
		delete(q.byKey, k)
	}
}

// backOff returns the wait after a further failure of an item. The wait doubles with each failure in a row, from 5 ms to
// 1000 s. It is never longer than requested, unless requested is 0.
func (q *dueQueue) backOff(k itemKey, requested time.Duration) time.Duration {
	if q.failures == nil {
		q.failures = map[itemKey]int{}
	}
	d := 5 * time.Millisecond << min(q.failures[k], 18)
	q.failures[k]++
	return min(d, 1000*time.Second, cmp.Or(requested, d))
}

// resetBackOff sets the number of failures of an item to 0.
func (q *dueQueue) resetBackOff(k itemKey) { delete(q.failures, k) }
