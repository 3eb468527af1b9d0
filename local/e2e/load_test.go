package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/local/scenario"
)

// loadInterval is the time between two requests of a load.
const loadInterval = 10 * time.Millisecond

// load sends requests at a steady rate, whatever becomes of them.
type load struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	outcomes map[string]int
}

// cmdLoad: `load start NS/INGRESS URL` begins, `load stop` ends and prints
// "requests N failed M" and a line for each kind of failure.
func cmdLoad(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	switch {
	case neg:
	case len(args) == 3 && args[0] == "start" && s.load == nil:
		ns, name := split(ts, args[1])
		host, err := s.Hostname(s.ctx, ns, name)
		ts.Check(err)
		s.load = s.startLoad(host, args[2])
		return
	case len(args) == 1 && args[0] == "stop" && s.load != nil:
		fmt.Fprint(ts.Stdout(), s.load.end())
		s.load = nil
		return
	}
	ts.Fatalf("usage: load start NS/INGRESS URL, later load stop")
}

func (s *stage) startLoad(host, url string) *load {
	ctx, cancel := context.WithCancel(s.ctx)
	l := &load{stop: cancel, outcomes: map[string]int{}}
	client := s.World.HTTPClient(host)
	l.done.Go(func() {
		tick := time.NewTicker(loadInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			l.done.Go(func() {
				// A request under way when the load ends still counts.
				r, err := scenario.Get(context.WithoutCancel(ctx), client, url, nil)
				outcome := fmt.Sprint(r.Status)
				if err != nil {
					outcome = err.Error()
				}
				l.mu.Lock()
				defer l.mu.Unlock()
				l.outcomes[outcome]++
			})
		}
	})
	return l
}

func (l *load) end() string {
	l.stop()
	l.done.Wait()
	var all, failed int
	var b strings.Builder
	for _, outcome := range slices.Sorted(maps.Keys(l.outcomes)) {
		n := l.outcomes[outcome]
		all += n
		if outcome != "200" {
			failed += n
			fmt.Fprintf(&b, "%d times %s\n", n, outcome)
		}
	}
	return fmt.Sprintf("requests %d failed %d\n%s", all, failed, b.String())
}

// rollout replaces all pods of a Deployment, as `kubectl rollout restart`.
func (s *stage) rollout(ns, deployment string) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"restarted":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := s.World.Kube().AppsV1().Deployments(ns).Patch(s.ctx, deployment, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// rolledOut is an error until a Deployment has its wanted pods, all new ones,
// and the old ones are gone.
func (s *stage) rolledOut(ctx context.Context, ns, deployment string) error {
	d, err := s.World.Kube().AppsV1().Deployments(ns).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return err
	}
	want := *d.Spec.Replicas
	st := d.Status
	if st.ObservedGeneration < d.Generation || st.UpdatedReplicas != want || st.Replicas != want || st.AvailableReplicas != want {
		return fmt.Errorf("%d of %d pods are new, %d in all, %d available", st.UpdatedReplicas, want, st.Replicas, st.AvailableReplicas)
	}
	pods, err := s.World.Kube().CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	if err != nil {
		return err
	}
	if len(pods.Items) != int(want) {
		return fmt.Errorf("%d pods exist, %d of them old", len(pods.Items), len(pods.Items)-int(want))
	}
	return nil
}
