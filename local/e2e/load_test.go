package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/local/scenario"
)

// loadInterval is the time between two requests of a load.
const loadInterval = 20 * time.Millisecond

// extraLoadTime is how long loads continue after the last change has taken effect in the load balancers.
const extraLoadTime = 300 * time.Millisecond

// load sends requests at a steady rate, and continues after failures, until stop is called.
type load struct {
	title     string // URL, and " kept" for a persistent connection or socket
	app       string // empty: responses of any application are accepted
	startedAt time.Time
	stop      context.CancelFunc
	done      sync.WaitGroup

	mu          sync.Mutex
	servedCount int
	failures    map[string]*loadFailure
}

// loadFailure counts the responses of a load with the same fault.
type loadFailure struct {
	count               int
	firstSent, lastSent time.Duration // when the first and the last of these requests were sent, since the start of the load
}

const loadUsage = "usage: load start [-app APP] [-keep] [-ttl D] NS/INGRESS|service:NS/NAME URL, later load stop"

// cmdLoad starts a load with `load start`. `load stop` ends all loads and prints "requests N failed M" for all of
// them, "URL requests N failed M" for each ("URL kept …" with -keep), and a line for each kind of failure.
func cmdLoad(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	if neg || len(args) == 0 {
		ts.Fatalf(loadUsage)
	}
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	app := f.String("app", "", "application that must respond")
	keep := f.Bool("keep", false, "send all requests by one connection, or from one socket")
	ttl := f.Duration("ttl", time.Hour, "how long clients cache the DNS name in the status")
	if err := f.Parse(args[1:]); err != nil {
		ts.Fatalf("%v", err)
	}
	switch {
	case args[0] == "start" && f.NArg() == 2:
		at := &cachedName{cluster: s, ref: f.Arg(0), ttl: *ttl}
		_, err := at.hostname(s.ctx)
		ts.Check(err)
		c, err := newClient(at, f.Arg(1), *keep)
		ts.Check(err)
		title := f.Arg(1)
		if *keep {
			title += " kept"
		}
		s.loads = append(s.loads, s.startLoad(c, title, *app))
	case args[0] == "stop" && f.NArg() == 0 && len(s.loads) > 0:
		// Wait until the last change has reached the load balancers.
		select {
		case <-s.ctx.Done():
		case <-time.After(s.propagationDelay + extraLoadTime):
		}
		fmt.Fprint(ts.Stdout(), s.endLoads())
	default:
		ts.Fatalf(loadUsage)
	}
}

func (s *scriptCluster) startLoad(c loadClient, title, app string) *load {
	ctx, cancel := context.WithCancel(s.ctx)
	l := &load{title: title, app: app, startedAt: time.Now(), stop: cancel, failures: map[string]*loadFailure{}}
	l.done.Go(func() {
		defer c.close()
		var under sync.WaitGroup
		defer under.Wait()
		tick := time.NewTicker(loadInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			one := func() {
				sent := time.Since(l.startedAt)
				// A request in progress when the load ends still counts.
				r, err := c.sendRequest(context.WithoutCancel(ctx))
				l.countResponse(sent, l.responseFault(r, err))
			}
			if c.isSequential() {
				one()
			} else {
				under.Go(one)
			}
		}
	})
	return l
}

// responseFault describes what is wrong with a response, or returns an empty string.
func (l *load) responseFault(r scenario.Reply, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case r.Status != http.StatusOK:
		return strconv.Itoa(r.Status)
	case l.app != "" && r.Pod == nil:
		return "a response without a pod"
	case l.app != "" && r.Pod.App != l.app:
		return "a response of application " + r.Pod.App
	}
	return ""
}

func (l *load) countResponse(sent time.Duration, fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if fault == "" {
		l.servedCount++
		return
	}
	f := l.failures[fault]
	if f == nil {
		f = &loadFailure{firstSent: sent, lastSent: sent}
		l.failures[fault] = f
	}
	f.count++
	f.firstSent, f.lastSent = min(f.firstSent, sent), max(f.lastSent, sent)
}

// endLoads ends all loads. It returns the numbers of requests and failures, in total and for each load, as cmdLoad
// describes.
func (s *scriptCluster) endLoads() string {
	for _, l := range s.loads {
		l.stop()
	}
	var all, failed int
	var b strings.Builder
	for _, l := range s.loads {
		l.done.Wait()
		var faults strings.Builder
		bad := 0
		for _, fault := range slices.Sorted(maps.Keys(l.failures)) {
			f := l.failures[fault]
			bad += f.count
			fmt.Fprintf(&faults, "  %d times %s, %.1fs to %.1fs after %s\n",
				f.count, fault, f.firstSent.Seconds(), f.lastSent.Seconds(), l.startedAt.Format("15:04:05.0"))
		}
		fmt.Fprintf(&b, "%s requests %d failed %d\n%s", l.title, l.servedCount+bad, bad, faults.String())
		all, failed = all+l.servedCount+bad, failed+bad
	}
	s.loads = nil
	return fmt.Sprintf("requests %d failed %d\n%s", all, failed, b.String())
}

// restartDeployment replaces all pods of a Deployment, as `kubectl rollout restart` does.
func (s *scriptCluster) restartDeployment(ns, deployment string) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"restarted":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := s.World.KubeClient().AppsV1().Deployments(ns).Patch(s.ctx, deployment, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// checkRolledOut returns an error unless a Deployment has the desired number of available pods, all of them new, and its old
// pods are deleted.
func (s *scriptCluster) checkRolledOut(ctx context.Context, ns, deployment string) error {
	d, err := s.World.KubeClient().AppsV1().Deployments(ns).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return err
	}
	want := *d.Spec.Replicas
	st := d.Status
	if st.ObservedGeneration < d.Generation || st.UpdatedReplicas != want || st.Replicas != want || st.AvailableReplicas != want {
		return fmt.Errorf("%d of %d pods are new, %d in all, %d available", st.UpdatedReplicas, want, st.Replicas, st.AvailableReplicas)
	}
	pods, err := s.World.KubeClient().CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	if err != nil {
		return err
	}
	if len(pods.Items) != int(want) {
		return fmt.Errorf("%d pods exist, %d of them old", len(pods.Items), len(pods.Items)-int(want))
	}
	return nil
}
