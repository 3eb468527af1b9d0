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
	// maxChanges is the maximum number of changes that are stored for pages that reconnect.
	maxChanges = 1000
	// maxViewers is the maximum number of open pages.
	maxViewers = 32
)

// change is a difference between two refreshes, or a Kubernetes event.
type change struct {
	At time.Time `json:"at"`
	// Subject is the load balancer, named as in the output of tree, or the object of the event.
	Subject string `json:"of"`
	// Removed has the lines that the text of the load balancer no longer has.
	Removed []string `json:"was,omitempty"`
	// Added has the lines that the text of the load balancer did not have before.
	Added []string `json:"now,omitempty"`
	// Event is the Kubernetes event, or nil for a difference.
	Event *event `json:"event,omitempty"`

	generation int
}

// event is a Kubernetes event.
type event struct {
	Warning bool `json:"warning"`
	// By is the reporting component.
	By      string `json:"by"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// stackPart is a stack as JSON. generation is the generation of the pageState in which the stack last changed.
type stackPart struct {
	key        string
	json       json.RawMessage
	generation int
}

// pageState is the state that pages show. It is immutable. generation increases by one with each refresh.
type pageState struct {
	generation       int
	refreshedAt      time.Time     // when the last refresh ended
	untilNextRefresh time.Duration // counted from the time when the state is sent to a page
	cluster          string
	stackParts       []stackPart
	changes          []change
	reported         stackPart // reportedWarnings as JSON, without a key
	text             string    // the output of tree if there is no load balancer
	notes            string
	failure          string    // why the last refresh failed; "" if it succeeded
	failingSince     time.Time // time of the first failed refresh since the last successful refresh
	refreshCalls     int       // calls to AWS of the last refresh
	// fullRefreshWanted reports whether a page has requested a full refresh that has not started yet.
	fullRefreshWanted bool
	fullRefreshCount  int // the number of full refreshes so far
	// callCounts are the call counts at each refresh of the last minute, and at the last refresh before that minute.
	callCounts []callCount
}

// callCount is the number of calls to AWS from the start of the console until countedAt, in total and by refreshes.
type callCount struct {
	countedAt        time.Time
	total, refreshes int64
}

// lastMinute returns the number of calls to AWS in the minute before the last refresh ended, in total and by refreshes.
func (s *pageState) lastMinute() (total, refreshes int64) {
	if len(s.callCounts) == 0 {
		return 0, 0
	}
	first, last := s.callCounts[0], s.callCounts[len(s.callCounts)-1]
	return last.total - first.total, last.refreshes - first.refreshes
}

// addCallCount appends the call count of a refresh to callCounts. Of the entries that are older than a minute, it retains
// only the newest.
func (s *pageState) addCallCount(c callCount) {
	if len(s.callCounts) == 0 {
		s.callCounts = []callCount{{countedAt: c.countedAt}}
	}
	s.callCounts = append(slices.Clone(s.callCounts), c)
	for len(s.callCounts) > 2 && c.countedAt.Sub(s.callCounts[1].countedAt) > durations.MinuteInterval {
		s.callCounts = s.callCounts[1:]
	}
}

// hub refreshes the pageState while a page is open, and sends it to each open page. Only the goroutine of run changes
// fields. Other goroutines send to the channels.
type hub struct {
	// refresh reads the cluster and AWS. If full is true, it does not use cached facts about AWS.
	refresh func(ctx context.Context, full bool) (tree.Snapshot, []change, error)
	// uidOf returns the UID of an object, and whether the last refresh found the object. If uidOf is nil, pages show no
	// warnings from events.
	uidOf func(output.Object) (uid string, found bool)
	// awsCalls counts all calls to AWS. refreshCalls counts only those by refreshes.
	awsCalls, refreshCalls *atomic.Int64
	budget                 int // maximum calls to AWS per minute
	now                    func() time.Time
	// instance is a random text that distinguishes this process from earlier processes, because generations of different
	// processes cannot be compared.
	instance string

	join, leave         chan *viewer
	events              chan change
	reportUpdates       chan func(*reports)
	fullRefreshRequests chan int      // requests for full refreshes; each value is the number of calls that the page will make after the refresh
	slots               chan struct{} // one for each open page, at most maxViewers
	done                chan struct{} // closed when run has ended
}

// publishEvent adds an event to the changes of the next state. It does nothing if the hub has ended.
func (h *hub) publishEvent(e input.Event) {
	c := change{At: e.Time, Subject: finding.Ref{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}.String(), Event: &event{e.Warning, e.Component, e.Reason, e.Message}}
	select {
	case h.events <- c:
	case <-h.done:
	}
}

// updateReports calls change with the reports in the goroutine of run. It does nothing if the hub has ended.
func (h *hub) updateReports(change func(*reports)) {
	select {
	case h.reportUpdates <- change:
	case <-h.done:
	}
}

// requestFullRefresh requests a full refresh. pageCalls is the number of calls to AWS that the page will make after the
// refresh. The refresh runs as soon as its own calls and the calls of the page are within the budget.
func (h *hub) requestFullRefresh(pageCalls int) {
	select {
	case h.fullRefreshRequests <- pageCalls:
	case <-h.done:
	}
}

// sendViewer sends a viewer to the goroutine of run through channel, which is hub.join or hub.leave. It returns false if
// the hub has ended.
func (h *hub) sendViewer(channel chan *viewer, v *viewer) bool {
	select {
	case channel <- v:
		return true
	case <-h.done:
		return false
	}
}

// viewer is an open page.
type viewer struct {
	background bool // whether the page is in a background tab
	// update is a channel with a buffer of one state: the latest state that is not sent to the page yet.
	update chan *pageState
}

// newHub returns a hub that refreshes nothing until run is called. The caller may set uidOf before it calls run.
func newHub(refresh func(context.Context, bool) (tree.Snapshot, []change, error), awsCalls, refreshCalls *atomic.Int64, budget int, now func() time.Time) *hub {
	return &hub{
		refresh: refresh, awsCalls: awsCalls, refreshCalls: refreshCalls, budget: budget, now: now, instance: rand.Text(),
		join: make(chan *viewer), leave: make(chan *viewer), events: make(chan change), reportUpdates: make(chan func(*reports)),
		fullRefreshRequests: make(chan int), slots: make(chan struct{}, maxViewers), done: make(chan struct{}),
	}
}

// refreshResult is the outcome of a refresh.
type refreshResult struct {
	snapshot tree.Snapshot
	changes  []change
	reported reportedWarnings
	err      error
	calls    int
	endedAt  time.Time
	isFull   bool // whether no cached facts about AWS were used
}

// run refreshes the state while pages are open, until the context ends.
func (h *hub) run(ctx context.Context) {
	defer close(h.done)
	viewers := map[*viewer]bool{}
	var last *pageState
	results := make(chan refreshResult, 1)
	var events []change // since the last refresh
	reported := &reports{now: h.now}
	refreshing, refreshingFull := false, false // whether a refresh is running, and whether a full refresh is running
	budget, lastFull := callBudget{perMinute: h.budget}, fullRefresh{calls: h.budget}
	fullWanted, pageCalls := false, 0 // whether a full refresh is requested, and how many calls the page makes after it
	timer := time.NewTimer(0)
	timer.Stop()
	// untilNext returns the time until the next refresh. It is called only while a page is open.
	untilNext := func() time.Duration {
		now := h.now()
		switch {
		case last == nil:
			return 0
		case fullWanted:
			budget.countCalls(now, h.awsCalls.Load())
			return budget.waitTime(now, lastFull.expectedCalls(len(last.stackParts))+pageCalls)
		}
		interval := durations.MinuteInterval
		for v := range viewers {
			if !v.background {
				interval = durations.BriefWait
			}
		}
		return max(0, laterOf(last.refreshedAt.Add(interval), budget.withinBudgetAt).Sub(now))
	}
	// schedule sets the timer for the next refresh, and sends the state with the time of that refresh to all pages.
	schedule := func() {
		if last == nil || refreshing || len(viewers) == 0 {
			return
		}
		next := *last
		next.untilNextRefresh, next.fullRefreshWanted = untilNext(), fullWanted
		last = &next
		for v := range viewers {
			v.setUpdate(last)
		}
		timer.Reset(last.untilNextRefresh)
	}
	for {
		select {
		case <-ctx.Done():
			if refreshing {
				<-results
			}
			return
		case v := <-h.join:
			viewers[v] = true
			if last != nil {
				v.update <- last
			}
			timer.Reset(untilNext())
		case c := <-h.events:
			events = append(events[max(0, len(events)+1-maxChanges):], c)
		case change := <-h.reportUpdates:
			change(reported)
		case v := <-h.leave:
			delete(viewers, v)
			if len(viewers) == 0 {
				timer.Stop()
				fullWanted, pageCalls = false, 0
			}
		case calls := <-h.fullRefreshRequests:
			fullWanted, pageCalls = fullWanted || !refreshingFull, max(pageCalls, min(calls, h.budget))
			schedule()
		case <-timer.C:
			if refreshing || len(viewers) == 0 {
				continue
			}
			// If commands have made calls to AWS since the timer was set, the refresh may have to wait longer.
			if fullWanted && last != nil && untilNext() > 0 {
				schedule()
				continue
			}
			refreshing = true
			fullNow, warnings := fullWanted || last == nil, reported.lastingWarnings()
			fullWanted, refreshingFull = false, fullNow
			go func() { results <- h.refreshOnce(ctx, fullNow, warnings) }()
		case s := <-results:
			refreshing, refreshingFull = false, false
			s.changes, events = append(events, s.changes...), nil
			last = last.withRefresh(s)
			last.addCallCount(callCount{s.endedAt, h.awsCalls.Load(), h.refreshCalls.Load()})
			budget.countCalls(s.endedAt, h.awsCalls.Load())
			if s.isFull && s.err == nil {
				lastFull = fullRefresh{s.calls, len(last.stackParts)}
			}
			callsOfPage := 0
			if s.isFull {
				callsOfPage, pageCalls = pageCalls, 0
			}
			budget.countRefresh(s.endedAt, s.calls, callsOfPage)
			schedule()
		}
	}
}

// fullRefresh has the number of calls of a full refresh, and the number of stacks that it found.
type fullRefresh struct{ calls, stacks int }

// expectedCalls returns the expected number of calls to AWS of the next full refresh. stacks is the current number of
// stacks.
func (f fullRefresh) expectedCalls(stacks int) int {
	if f.stacks == 0 {
		return f.calls
	}
	return (f.calls*max(stacks, f.stacks) + f.stacks - 1) / f.stacks
}

// refreshOnce runs a refresh and returns its result. The result contains those warnings whose objects exist.
func (h *hub) refreshOnce(ctx context.Context, full bool, warnings lastingWarnings) refreshResult {
	before := h.refreshCalls.Load()
	snapshot, changes, err := h.refresh(ctx, full)
	s := refreshResult{snapshot: snapshot, changes: changes, err: err, calls: int(h.refreshCalls.Load() - before), endedAt: h.now(), isFull: full}
	if h.uidOf != nil {
		var current *tree.Document
		if err == nil {
			current = &snapshot.Document
		}
		s.reported = warnings.reportedFor(h.uidOf, current)
	}
	return s
}

// setUpdate sets the state that is sent to the page next. It replaces a state that has not been sent yet.
func (v *viewer) setUpdate(s *pageState) {
	select {
	case <-v.update:
	default:
	}
	v.update <- s
}

// withRefresh returns the state after a refresh. s is the previous state, or nil before the first refresh. If the refresh
// failed, the new state has the previous stacks.
func (s *pageState) withRefresh(got refreshResult) *pageState {
	next := &pageState{generation: 1, failingSince: got.endedAt}
	if s != nil {
		*next = *s
		next.generation++
	}
	next.refreshedAt, next.refreshCalls = got.endedAt, got.calls
	if got.isFull {
		next.fullRefreshCount++
	}
	next.changes = slices.Clone(next.changes)
	for _, c := range got.changes {
		c.generation = next.generation
		next.changes = append(next.changes, c)
	}
	next.changes = next.changes[max(0, len(next.changes)-maxChanges):]
	if data, err := json.Marshal(got.reported); err == nil && !bytes.Equal(data, next.reported.json) {
		next.reported = stackPart{json: data, generation: next.generation}
	}
	if got.err != nil {
		if next.failure == "" {
			next.failingSince = got.endedAt
		}
		next.failure = got.err.Error()
		return next
	}
	previous := map[string]stackPart{}
	for _, p := range next.stackParts {
		previous[p.key] = p
	}
	next.failure, next.cluster, next.stackParts = "", got.snapshot.Document.Cluster, nil
	next.text, next.notes = "", got.snapshot.Notes
	if len(got.snapshot.Document.Stacks) == 0 {
		next.text = got.snapshot.Text
	}
	for _, stack := range got.snapshot.Document.Stacks {
		p := stackPart{key: stack.Kind + " " + stack.ID, generation: next.generation}
		var err error
		if p.json, err = json.Marshal(stack); err != nil {
			next.failure = err.Error()
			continue
		}
		if before, ok := previous[p.key]; ok && bytes.Equal(before.json, p.json) {
			p = before
		}
		next.stackParts = append(next.stackParts, p)
	}
	return next
}
