package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

const (
	// mostChanges are kept for pages that come back after a while.
	mostChanges = 1000
	// mostViewers are pages that are open at the same time.
	mostViewers = 32
)

// change is what a look found to be otherwise than the one before.
type change struct {
	At time.Time `json:"at"`
	// Of is the load balancer, as tree names it. Was and Now are the lines that are no more, and those that are new.
	Of  string   `json:"of"`
	Was []string `json:"was,omitempty"`
	Now []string `json:"now,omitempty"`
	// Event is an event of the cluster, in place of lines. Of is its object then.
	Event *event `json:"event,omitempty"`

	generation int
}

// event is an event of the cluster.
type event struct {
	Warning bool   `json:"warning"`
	By      string `json:"by"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// part is a stack of the document, as JSON, and the look that found it so first.
type part struct {
	key        string
	json       json.RawMessage
	generation int
}

// snapshot is what pages see. It is not changed once it is made.
type snapshot struct {
	generation int
	at         time.Time
	next       time.Duration // until the next look
	cluster    string
	parts      []part
	changes    []change
	reported   part   // what events have reported, without a key
	text       string // what tree prints where there is no load balancer
	notes      string
	failed     string // why the last look failed
	since      time.Time
	cost       int // calls to AWS of the last look
	// wanted reports that a page has asked for a look that reads AWS again, and that it waits for room in the budget. reads
	// counts these looks.
	wanted bool
	reads  int
	// counts are how many calls there had been at each look of the last minute, and at the one before.
	counts []count
}

// count is how many calls to AWS there have been at a time, and those of looks among them.
type count struct {
	at            time.Time
	total, looked int64
}

// lastMinute returns how many calls to AWS there were in the last minute, and those of looks among them, as far as
// looks have counted them.
func (s *snapshot) lastMinute() (total, looked int64) {
	if len(s.counts) == 0 {
		return 0, 0
	}
	first, last := s.counts[0], s.counts[len(s.counts)-1]
	return last.total - first.total, last.looked - first.looked
}

// counted has the count at a look in place of those that are older than a minute, but for the last of them.
func (s *snapshot) counted(c count) {
	if len(s.counts) == 0 {
		s.counts = []count{{at: c.at}}
	}
	s.counts = append(slices.Clone(s.counts), c)
	for len(s.counts) > 2 && c.at.Sub(s.counts[1].at) > durations.Often {
		s.counts = s.counts[1:]
	}
}

// hub looks while a page is open, and sends what it sees to each page. Its goroutine owns all that changes.
type hub struct {
	// look reads the cluster, and AWS again if the argument is true.
	look func(context.Context, bool) (tree.Snapshot, []change, error)
	// uidOf is the UID of an object that the last look has found; nil if no events are read.
	uidOf func(output.Object) (uid string, there bool)
	// asked are calls to AWS, and looked those of looks among them.
	asked, looked *atomic.Int64
	budget        int
	now           func() time.Time
	// instance distinguishes one run of the program from another, whose generations mean something else.
	instance string

	join, leave chan *viewer
	happened    chan change
	report      chan func(*reports)
	again       chan int
	room        chan struct{} // for mostViewers
	ended       chan struct{}
}

// take passes an event on.
func (h *hub) take(e input.Event) {
	c := change{At: e.Time, Of: finding.Ref{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}.String(), Event: &event{e.Warning, e.Component, e.Reason, e.Message}}
	select {
	case h.happened <- c:
	case <-h.ended:
	}
}

// reporting hands to the hub what events have reported.
func (h *hub) reporting(change func(*reports)) {
	select {
	case h.report <- change:
	case <-h.ended:
	}
}

// lookAgain makes the hub read AWS again, as soon as that and so many calls of a page after it are within the budget.
func (h *hub) lookAgain(after int) {
	select {
	case h.again <- after:
	case <-h.ended:
	}
}

// send hands a page to the goroutine of the hub, and reports whether it did.
func (h *hub) send(by chan *viewer, v *viewer) bool {
	select {
	case by <- v:
		return true
	case <-h.ended:
		return false
	}
}

// viewer is a page that is open.
type viewer struct {
	background bool
	// update has the latest snapshot, in place of one that was not taken.
	update chan *snapshot
}

func newHub(look func(context.Context, bool) (tree.Snapshot, []change, error), asked, looked *atomic.Int64, budget int, now func() time.Time) *hub {
	return &hub{look: look, asked: asked, looked: looked, budget: budget, now: now, instance: rand.Text(), join: make(chan *viewer), leave: make(chan *viewer), happened: make(chan change), report: make(chan func(*reports)), again: make(chan int), room: make(chan struct{}, mostViewers), ended: make(chan struct{})}
}

// sight is the outcome of a look.
type sight struct {
	picture  tree.Snapshot
	changes  []change
	reported reported
	err      error
	cost     int
	at       time.Time
	again    bool // AWS was read again
}

// run looks until the context ends.
func (h *hub) run(ctx context.Context) {
	defer close(h.ended)
	viewers := map[*viewer]bool{}
	var last *snapshot
	sights := make(chan sight, 1)
	var events []change // since the last look
	kept := &reports{now: h.now}
	looking, reading := false, false // reading: by a look that reads AWS again
	spent, full := spending{budget: h.budget}, fullLook{cost: h.budget}
	wanted, after := false, 0 // whether AWS is to be read again, and how many calls a page makes then
	timer := time.NewTimer(0)
	timer.Stop()
	// due is how long the next look is off; it is not needed while no page is open.
	due := func() time.Duration {
		now := h.now()
		switch {
		case last == nil:
			return 0
		case wanted:
			spent.countCalls(now, h.asked.Load())
			return spent.wait(now, full.expectedCalls(len(last.parts))+after)
		}
		every := durations.Often
		for v := range viewers {
			if !v.background {
				every = durations.Glance
			}
		}
		return max(0, latestOf(last.at.Add(every), spent.paid).Sub(now))
	}
	// schedule sets the timer for the next look, and sends its time to all pages.
	schedule := func() {
		if last == nil || looking || len(viewers) == 0 {
			return
		}
		next := *last
		next.next, next.wanted = due(), wanted
		last = &next
		for v := range viewers {
			v.show(last)
		}
		timer.Reset(last.next)
	}
	for {
		select {
		case <-ctx.Done():
			if looking {
				<-sights
			}
			return
		case v := <-h.join:
			viewers[v] = true
			if last != nil {
				v.update <- last
			}
			timer.Reset(due())
		case c := <-h.happened:
			events = append(events[max(0, len(events)+1-mostChanges):], c)
		case change := <-h.report:
			change(kept)
		case v := <-h.leave:
			delete(viewers, v)
			if len(viewers) == 0 {
				timer.Stop()
				wanted, after = false, 0
			}
		case calls := <-h.again:
			wanted, after = wanted || !reading, max(after, min(calls, h.budget))
			schedule()
		case <-timer.C:
			if looking || len(viewers) == 0 {
				continue
			}
			if wanted && last != nil && due() > 0 { // there were calls meanwhile
				schedule()
				continue
			}
			looking = true
			again, lasting := wanted || last == nil, kept.lastingWarnings()
			wanted, reading = false, again
			go func() { sights <- h.lookOnce(ctx, again, lasting) }()
		case s := <-sights:
			looking, reading = false, false
			s.changes, events = append(events, s.changes...), nil
			last = last.after(s)
			last.counted(count{s.at, h.asked.Load(), h.looked.Load()})
			spent.countCalls(s.at, h.asked.Load())
			if s.again && s.err == nil {
				full = fullLook{s.cost, len(last.parts)}
			}
			promised := 0
			if s.again {
				promised, after = after, 0
			}
			spent.countLook(s.at, s.cost, promised)
			schedule()
		}
	}
}

// fullLook is a look that has read all of AWS: its calls, and the stacks that it found.
type fullLook struct{ cost, stacks int }

// expectedCalls returns the calls of one that finds so many stacks.
func (f fullLook) expectedCalls(stacks int) int {
	if f.stacks == 0 {
		return f.cost
	}
	return (f.cost*max(stacks, f.stacks) + f.stacks - 1) / f.stacks
}

func (h *hub) lookOnce(ctx context.Context, again bool, l lasting) sight {
	before := h.looked.Load()
	picture, changes, err := h.look(ctx, again)
	s := sight{picture: picture, changes: changes, err: err, cost: int(h.looked.Load() - before), at: h.now(), again: again}
	if h.uidOf != nil {
		var found *tree.Document
		if err == nil {
			found = &picture.Document
		}
		s.reported = l.ofExistingObjects(h.uidOf, found)
	}
	return s
}

func (v *viewer) show(s *snapshot) {
	select {
	case <-v.update:
	default:
	}
	v.update <- s
}

// after returns the snapshot that a look makes of the one before; what a failed look has not seen stays.
func (s *snapshot) after(got sight) *snapshot {
	next := &snapshot{generation: 1, since: got.at}
	if s != nil {
		*next = *s
		next.generation++
	}
	next.at, next.cost = got.at, got.cost
	if got.again {
		next.reads++
	}
	next.changes = slices.Clone(next.changes)
	for _, c := range got.changes {
		c.generation = next.generation
		next.changes = append(next.changes, c)
	}
	next.changes = next.changes[max(0, len(next.changes)-mostChanges):]
	if data, err := json.Marshal(got.reported); err == nil && !bytes.Equal(data, next.reported.json) {
		next.reported = part{json: data, generation: next.generation}
	}
	if got.err != nil {
		if next.failed == "" {
			next.since = got.at
		}
		next.failed = got.err.Error()
		return next
	}
	was := map[string]part{}
	for _, p := range next.parts {
		was[p.key] = p
	}
	next.failed, next.cluster, next.parts = "", got.picture.Document.Cluster, nil
	next.text = ""
	if got.picture.Notes != "" { // the flags of the controller are taken over once
		next.notes = got.picture.Notes
	}
	if len(got.picture.Document.Stacks) == 0 {
		next.text = got.picture.Text
	}
	for _, stack := range got.picture.Document.Stacks {
		p := part{key: stack.Kind + " " + stack.ID, generation: next.generation}
		var err error
		if p.json, err = json.Marshal(stack); err != nil {
			next.failed = err.Error()
			continue
		}
		if before, ok := was[p.key]; ok && bytes.Equal(before.json, p.json) {
			p = before
		}
		next.parts = append(next.parts, p)
	}
	return next
}
