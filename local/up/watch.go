package up

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// controller is the one that a world runs.
type controller struct {
	path    string // empty: none
	args    []string
	restart bool // start it again when it ends
}

// watcher prints what happens in a world.
type watcher struct {
	out        io.Writer
	w          *world.World
	controller controller

	shown   map[string]string // by load balancer
	ended   map[string]bool   // by role
	started time.Time         // the controller
	backOff backOff
	again   time.Time // when to start the controller again; zero: not planned
}

func newWatcher(out io.Writer, w *world.World, c controller) *watcher {
	return &watcher{out: out, w: w, controller: c, shown: map[string]string{}, ended: map[string]bool{}, started: time.Now()}
}

// run returns when ctx ends.
func (x *watcher) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			x.processes(now)
			x.loadBalancers(ctx)
		}
	}
}

// processes reports each process that has ended, and starts the controller
// again where that is wanted.
func (x *watcher) processes(now time.Time) {
	for _, role := range world.Roles() {
		how := x.w.Ended(role)
		if how == "" || x.ended[role] {
			continue
		}
		x.ended[role] = true
		fmt.Fprintf(x.out, "\n%s has ended: %s; its log is %s\n", role, how, x.w.Log(role))
		switch {
		case role != world.RoleController:
			fmt.Fprintln(x.out, "this world does not work without it; end it with Ctrl-C and start another")
		case x.controller.restart:
			wait := x.backOff.next(now.Sub(x.started))
			x.again = now.Add(wait)
			fmt.Fprintf(x.out, "starting it again in %s\n", wait)
		default:
			fmt.Fprintf(x.out, "start it again with (or use up --restart):\n%s\n", x.w.ControllerCommand(x.controller.path, x.controller.args...))
		}
	}
	if x.again.IsZero() || now.Before(x.again) {
		return
	}
	x.again, x.started = time.Time{}, now
	if err := x.w.StartController(x.controller.path, x.controller.args...); err != nil {
		fmt.Fprintf(x.out, "the controller cannot be started: %v\n", err)
		return
	}
	x.ended[world.RoleController] = false
	fmt.Fprintln(x.out, "the controller is started again")
}

// loadBalancers prints curl lines for each load balancer that is new or has
// changed, and a line when one goes.
func (x *watcher) loadBalancers(ctx context.Context) {
	if x.w.AWSEndpoint() == "" {
		return
	}
	balancers, err := x.w.LoadBalancers(ctx)
	if err != nil {
		return
	}
	ca := certificateAuthority{x.w.CA(), x.w.RootCAs()}
	now := map[string]string{}
	for _, lb := range balancers {
		now[lb.Name] = curlLines(lb, ca)
		if text := now[lb.Name]; text != "" && x.shown[lb.Name] != text {
			fmt.Fprintf(x.out, "\nload balancer %s\n%s", lb.Name, text)
		}
	}
	for name := range x.shown {
		if _, there := now[name]; !there {
			fmt.Fprintf(x.out, "\nload balancer %s is gone\n", name)
		}
	}
	x.shown = now
}

// Waits before a controller is started again.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
	// settled is how long a controller has to run for its next end to count as
	// the first.
	settled = time.Minute
)

// backOff doubles the wait while a controller ends soon after its start.
type backOff struct{ last time.Duration }

// next is the wait after an end. lived is how long the controller ran.
func (b *backOff) next(lived time.Duration) time.Duration {
	if b.last == 0 || lived >= settled {
		b.last = firstWait
	} else {
		b.last = min(2*b.last, longestWait)
	}
	return b.last
}
