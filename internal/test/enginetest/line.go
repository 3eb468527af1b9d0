package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// maxRuns is the maximum number of runs of a stack. A case that is not idle by then waits for an event that does not occur.
const maxRuns = 8

// StacksOfKind returns the IDs of all stacks with members of a kind.
func StacksOfKind(t testing.TB, f engine.Frontend, src cluster.Source, kind cluster.Kind) []model.StackID {
	t.Helper()
	v := cluster.NewView(&cluster.ReducedSource{Source: src})
	var out []model.StackID
	objs, err := src.List(cluster.Query{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objs {
		for _, id := range f.Stacks(v, o) {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	return out
}

// RunStacks runs stacks of one kind with a new FakeAWS, which has no load balancers. It returns their first plans, and the
// final status and events of the objects in src.
func RunStacks(t testing.TB, src *cluster.Memory, f engine.Frontend, ids []model.StackID, opt plan.Options) (plans, status string) {
	t.Helper()
	if len(ids) == 0 {
		return "", statusYAML(src)
	}
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := testclock.FromVariable(&now)
	opt.VPC, opt.RuleTags, opt.SubnetClusterCheck = "vpc-1", true, true
	e := engine.New(engine.Config{
		Cloud: newAWS(t), Cluster: kube.New(src, kube.MemoryAPI{Store: src}, clock), Clock: clock,
		Frontends: map[model.Kind]engine.Frontend{ids[0].Kind: f},
		Options:   opt,
	})
	var out strings.Builder
	for _, id := range ids {
		d, err := e.DraftPlan(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if text := d.Plan.Text(); text != "" {
			out.WriteString("--- # stack " + id.String() + "\n" + text)
		}
		for range maxRuns {
			o, err := e.Reconcile(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if o.Idle || o.RetryAfter == 0 {
				break
			}
			now = now.Add(o.RetryAfter)
		}
	}
	return out.String(), statusYAML(src)
}

// statusEntry is a load balancer in the status of an Ingress or a Service.
type statusEntry struct {
	Hostname string
	Ports    []string
}

// statusObject has the status and the events of an object.
type statusObject struct {
	Object               string
	LoadBalancer         []statusEntry
	Finalizers           []string
	Addresses            []string
	AttachedListenerSets *int32
	Conditions           []string
	Listeners            []statusListener
	Parents              []statusParent
	Events               []string
}

type statusObjects []*statusObject

// findOrAdd returns the object with a name, and adds it if it is new.
func (o *statusObjects) findOrAdd(name string) *statusObject {
	i := slices.IndexFunc(*o, func(s *statusObject) bool { return s.Object == name })
	if i < 0 {
		i, *o = len(*o), append(*o, &statusObject{Object: name})
	}
	return (*o)[i]
}

// statusYAML returns the status of all Ingresses, Services and Gateway API objects, with their events, as YAML. It omits
// Services that have no finalizer, no load balancer and no event.
func statusYAML(src *cluster.Memory) string {
	var out statusObjects
	for _, obj := range src.All(cluster.KindIngress) {
		if ing, ok := obj.(*networkingv1.Ingress); ok {
			o := out.findOrAdd(cluster.RefOf(ing).String())
			o.Finalizers = ing.Finalizers
			for _, lb := range ing.Status.LoadBalancer.Ingress {
				e := statusEntry{Hostname: lb.Hostname}
				for _, p := range lb.Ports {
					e.Ports = append(e.Ports, fmt.Sprint(p.Port))
				}
				o.LoadBalancer = append(o.LoadBalancer, e)
			}
		}
	}
	for _, obj := range src.All(cluster.KindService) {
		if svc, ok := obj.(*corev1.Service); ok && len(svc.Finalizers)+len(svc.Status.LoadBalancer.Ingress) > 0 {
			o := out.findOrAdd(cluster.RefOf(svc).String())
			o.Finalizers = svc.Finalizers
			for _, lb := range svc.Status.LoadBalancer.Ingress {
				e := statusEntry{Hostname: lb.Hostname}
				for _, p := range lb.Ports {
					e.Ports = append(e.Ports, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
				}
				o.LoadBalancer = append(o.LoadBalancer, e)
			}
		}
	}
	out.addGateways(src)
	for _, obj := range src.All("Event") {
		if ev, ok := obj.(*corev1.Event); ok {
			o := out.findOrAdd(strings.Replace(fmt.Sprintf("%s %s/%s", ev.InvolvedObject.Kind, ev.InvolvedObject.Namespace, ev.InvolvedObject.Name), " /", " ", 1))
			o.Events = append(o.Events, ev.Type+" "+ev.Reason+" "+ev.Message)
		}
	}
	for _, o := range out {
		slices.Sort(o.Events)
	}
	return goldentest.Dump(out)
}
