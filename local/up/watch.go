package up

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// controller is the controller that a world runs.
type controller struct {
	path    string // empty: none
	args    []string
	restart bool // start it again when it ends
}

// watcher prints changes of load balancers and ends of processes in a world.
type watcher struct {
	out        io.Writer
	w          *world.World
	controller controller

	shown     map[string]string // printed curl lines, by name of load balancer
	ended     map[string]bool   // processes whose end is printed, by role
	started   time.Time         // last start of the controller
	backOff   backOff
	restartAt time.Time // next start of the controller; zero: none planned
}

func newWatcher(out io.Writer, w *world.World, c controller) *watcher {
	return &watcher{out: out, w: w, controller: c, shown: map[string]string{}, ended: map[string]bool{}, started: time.Now()}
}

// run checks the world each second until ctx ends.
func (x *watcher) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			x.reportProcesses(now)
			x.reportLoadBalancers(ctx)
		}
	}
}

// reportProcesses prints each process that has ended, and restarts the controller if --restart is set.
func (x *watcher) reportProcesses(now time.Time) {
	for _, role := range world.Roles() {
		status := x.w.ExitStatus(role)
		if status == "" || x.ended[role] {
			continue
		}
		x.ended[role] = true
		fmt.Fprintf(x.out, "\n%s has ended: %s; its log is %s\n", role, status, x.w.Log(role))
		switch {
		case role != world.RoleController:
			fmt.Fprintln(x.out, "this world does not work without it; end it with Ctrl-C and start another")
		case x.controller.restart:
			wait := x.backOff.next(now.Sub(x.started))
			x.restartAt = now.Add(wait)
			fmt.Fprintf(x.out, "starting it again in %s\n", wait)
		default:
			fmt.Fprintf(x.out, "start it again with (or use up --restart):\n%s\n", x.w.ControllerCommand(x.controller.path, x.controller.args...))
		}
	}
	if x.restartAt.IsZero() || now.Before(x.restartAt) {
		return
	}
	x.restartAt, x.started = time.Time{}, now
	if err := x.w.StartController(x.controller.path, x.controller.args...); err != nil {
		fmt.Fprintf(x.out, "the controller cannot be started: %v\n", err)
		return
	}
	x.ended[world.RoleController] = false
	fmt.Fprintln(x.out, "the controller is started again")
}

// reportLoadBalancers prints curl lines for each new or changed load balancer, and a line for each deleted one.
func (x *watcher) reportLoadBalancers(ctx context.Context) {
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
		if _, exists := now[name]; !exists {
			fmt.Fprintf(x.out, "\nload balancer %s is gone\n", name)
		}
	}
	x.shown = now
}

// Bounds of the wait before a controller is restarted.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
	// stableRun is the run time after which the wait is firstWait again.
	stableRun = time.Minute
)

// backOff doubles the wait while a controller ends soon after its start.
type backOff struct{ last time.Duration }

// next returns the wait before the next start. ranFor is how long the controller ran.
func (b *backOff) next(ranFor time.Duration) time.Duration {
	if b.last == 0 || ranFor >= stableRun {
		b.last = firstWait
	} else {
		b.last = min(2*b.last, longestWait)
	}
	return b.last
}
