package up

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// controller describes the controller that up starts in a local world.
type controller struct {
	path    string // empty: up starts no controller
	args    []string
	restart bool // start the controller again when it ends
}

// watcher prints changes of load balancers, and processes that have ended, in a local world.
type watcher struct {
	out        io.Writer
	w          *world.World
	controller controller

	printedLines      map[string]string // last result of curlLines, by name of load balancer
	reportedEnds      map[string]bool   // whether the end of the process is already printed, by role
	controllerStarted time.Time         // last start of the controller
	backOff           backOff
	restartAt         time.Time // next start of the controller; zero: none planned
}

func newWatcher(out io.Writer, w *world.World, c controller) *watcher {
	return &watcher{out: out, w: w, controller: c, printedLines: map[string]string{}, reportedEnds: map[string]bool{}, controllerStarted: time.Now()}
}

// run checks the local world each second until ctx ends.
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

// reportProcesses prints each process that has ended. If the flag --restart is set, it starts the controller again after the
// back-off.
func (x *watcher) reportProcesses(now time.Time) {
	for _, role := range world.Roles() {
		status := x.w.ExitStatus(role)
		if status == "" || x.reportedEnds[role] {
			continue
		}
		x.reportedEnds[role] = true
		fmt.Fprintf(x.out, "\n%s has ended: %s; its log is %s\n", role, status, x.w.LogPath(role))
		switch {
		case role != world.RoleController:
			fmt.Fprintln(x.out, "this world does not work without this process; press Ctrl-C and start another world")
		case x.controller.restart:
			wait := x.backOff.nextWait(now.Sub(x.controllerStarted))
			x.restartAt = now.Add(wait)
			fmt.Fprintf(x.out, "starting it again in %s\n", wait)
		default:
			fmt.Fprintf(x.out, "start it again with (or use up --restart):\n%s\n", x.w.ControllerCommand(x.controller.path, x.controller.args...))
		}
	}
	if x.restartAt.IsZero() || now.Before(x.restartAt) {
		return
	}
	x.restartAt, x.controllerStarted = time.Time{}, now
	if err := x.w.StartController(x.controller.path, x.controller.args...); err != nil {
		fmt.Fprintf(x.out, "the controller cannot be started: %v\n", err)
		return
	}
	x.reportedEnds[world.RoleController] = false
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
	ca := certificateAuthority{x.w.CAFile(), x.w.RootCAs()}
	now := map[string]string{}
	for _, lb := range balancers {
		now[lb.Name] = curlLines(lb, ca)
		if text := now[lb.Name]; text != "" && x.printedLines[lb.Name] != text {
			fmt.Fprintf(x.out, "\nload balancer %s\n%s", lb.Name, text)
		}
	}
	for name := range x.printedLines {
		if _, exists := now[name]; !exists {
			fmt.Fprintf(x.out, "\nload balancer %s was deleted\n", name)
		}
	}
	x.printedLines = now
}

// Bounds of the wait before a controller is restarted.
const (
	minWait = time.Second
	maxWait = 30 * time.Second
	// stableRunTime is the run time after which the wait is minWait again.
	stableRunTime = time.Minute
)

// backOff computes the wait before the controller is restarted. The wait doubles each time the controller ends within
// stableRunTime after its start.
type backOff struct{ lastWait time.Duration }

// nextWait returns the wait before the next start. ranFor is how long the controller ran.
func (b *backOff) nextWait(ranFor time.Duration) time.Duration {
	if b.lastWait == 0 || ranFor >= stableRunTime {
		b.lastWait = minWait
	} else {
		b.lastWait = min(2*b.lastWait, maxWait)
	}
	return b.lastWait
}
