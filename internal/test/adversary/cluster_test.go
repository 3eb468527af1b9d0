package adversary

import (
	"fmt"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

var clientAddress = netip.MustParseAddr("10.1.2.3")

// setup has the parameters of a history besides its moves.
type setup struct {
	access   access
	scenario int
	isolated bool
}

func (s setup) String() string {
	mode := "cooperative"
	if s.isolated {
		mode = "isolated"
	}
	return fmt.Sprintf("%s, %s, scenario %d", mode, s.access, s.scenario)
}

// setIsolatedTenancy enables isolated tenancy.
func setIsolatedTenancy(o *ingress.Options) { o.Tenancy = ingress.Isolated }

// recorder records the failures that the harness reports, so that a history can be repeated without ending the test.
type recorder struct {
	testing.TB
	failures []string
}

// historyStop is the panic value that ends a history whose harness cannot continue.
type historyStop struct{}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, args...))
}

// recordFirst records a failure unless one is recorded already.
func (r *recorder) recordFirst(f string, args ...any) {
	if len(r.failures) == 0 {
		r.Errorf(f, args...)
	}
}
func (r *recorder) Fatal(args ...any) { r.Error(args...); panic(historyStop{}) }
func (r *recorder) Fatalf(f string, args ...any) {
	r.Errorf(f, args...)
	panic(historyStop{})
}
func (r *recorder) Failed() bool { return len(r.failures) > 0 }

// testCluster is a test cluster with a controller, the victims (namespaces that the attacker must not affect) and one
// attacker. It records the violations that a test finds.
type testCluster struct {
	*harness.Harness
	setup
	rec                 *recorder
	placeholderReplacer *strings.Replacer

	lbs    map[string]string // ARN by stack, set once the victims are served
	log    eventLog
	rights *attackerRights
	// isTargetUnhealthy reports which targets of the attacker never become healthy; nil for none.
	isTargetUnhealthy    func(target string) bool
	comparison           *comparison // nil: nothing is compared
	settleRunsController bool        // the test must call Settle to run the controller
	// comparisonMutex guards the comparison and dirty.
	comparisonMutex sync.Mutex
	hasAWSChanged   bool // AWS has changed since the last comparison
}

// attackerAddresses are the addresses of the attacker's pods.
var attackerAddresses = []string{
	"10.0.133.1", "10.0.149.1", "10.0.165.1", "10.0.133.2", "10.0.149.2", "10.0.165.2", "10.0.133.3", "10.0.149.3",
}

// runInTestCluster runs f in virtual time, when the victims are served and the controller is idle. It returns the recorded
// failures, including those that the harness reports at the end of the test.
func runInTestCluster(t *testing.T, s setup, opt harness.Options, f func(w *testCluster)) []string {
	t.Helper()
	rec := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		rec.TB = t
		defer func() {
			switch p := recover().(type) {
			case nil, historyStop:
			default:
				rec.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		edit := opt.Ingress
		opt.Ingress = func(o *ingress.Options) {
			if s.access == shutOut {
				o.Class = "operator" // the annotation kubernetes.io/ingress.class ignores namespace selectors
			}
			if s.isolated {
				setIsolatedTenancy(o)
			}
			if edit != nil {
				edit(o)
			}
		}
		also := opt.AfterRun
		opt.AfterRun = func(what string, err error) {
			if also != nil {
				also(what, err)
			}
			if err != nil && strings.Contains(err.Error(), "panic") {
				rec.recordFirst("the controller panics in a run of %s: %.1200s", what, err.Error())
			}
		}
		opt.Addresses = addressesOfPods()
		r := harness.New(rec, opt)
		w := &testCluster{
			Harness: r, setup: s, rec: rec, lbs: map[string]string{}, settleRunsController: opt.Workers == 0,
			log:    eventLog{store: r.Store, startTime: time.Now()},
			rights: &attackerRights{setup: s, store: r.Store, openedPorts: map[openedPort]bool{}, exposedPorts: map[int32]bool{}},
		}
		w.createVictims()
		f(w)
	})
	return rec.failures
}

// createVictims creates the victims' objects and waits until they are served.
func (w *testCluster) createVictims() {
	placeholders := []string{
		"$SUBNET0", w.Seeded.Public[0], "$SUBNET1", w.Seeded.Public[1], "$SUBNET2", w.Seeded.Private[0],
		"$PRIVATE", strings.Join(w.Seeded.Private, ","), "$PUBLIC", strings.Join(w.Seeded.Public, ","),
		"$CERTAPP", w.Seeded.Certs["app.test"], "$CERT", w.Seeded.Certs["example.com"],
		"$WEBACL", w.Seeded.WebACL, "$PREFIXLIST", w.Seeded.PrefixList,
		"$EXTRASG", w.Seeded.ExtraSG, "$NODESG", w.Seeded.NodeSG,
		"$EXTERNAL", w.Seeded.TargetGroups["external"], "$EIPS", strings.Join(w.Seeded.EIPs, ","),
	}
	w.placeholderReplacer = strings.NewReplacer(placeholders...)
	w.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if !c.Mutating {
			return fault.Action{}
		}
		return fault.Action{After: func() {
			w.comparisonMutex.Lock() // several workers may make calls concurrently
			w.hasAWSChanged = true
			w.makeTargetsUnhealthy()
			w.comparisonMutex.Unlock()
			w.compareIfChanged()
		}}
	})
	w.apply(clusterDocs(w.access))
	w.apply(victimLogin)
	for _, o := range workloads() {
		w.apply(o.docs())
	}
	all := ingresses()
	for _, name := range []string{"pay/shop", "blog/blog", "blog/extra", "pay/vault", "blog/vault", "blog/vault-extra", "pay/solo"} {
		w.apply(all[name].docs())
	}
	w.runFor(10 * time.Minute)
	for stack, name := range statusObjectOfStack {
		w.lbs[stack] = w.arnOf(name)
	}
	w.placeholderReplacer = strings.NewReplacer(append(w.mailPlaceholders(), placeholders...)...)
	w.Emulator.Calls().Reset()
}

// addressesOfPods returns the addresses of all pods, including the attacker's.
func addressesOfPods() []string {
	out := append([]string{replacementAddress}, attackerAddresses...)
	for _, o := range workloads() {
		out = append(out, o.pods...)
	}
	return out
}

// arnOf returns the ARN of the load balancer in the status of an Ingress.
func (w *testCluster) arnOf(name string) string {
	host := w.statusHostname(name)
	p, unlock := w.partition()
	defer unlock()
	for arn, lb := range p.ELB.LoadBalancers {
		if host != "" && strings.EqualFold(lb.DNSName, host) {
			return arn
		}
	}
	w.rec.Fatalf("%s has no load balancer before the attack: %v", name, w.log.events())
	return ""
}

// statusHostname returns the hostname in the status of an Ingress or Service, or "" if there is none.
func (w *testCluster) statusHostname(name string) string {
	namespace, short, _ := strings.Cut(name, "/")
	if name == mailService {
		return w.mailStatusHostname()
	}
	obj, err := w.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: short})
	if err != nil {
		w.rec.Fatal(err)
	}
	if ing, ok := obj.(*networkingv1.Ingress); ok && len(ing.Status.LoadBalancer.Ingress) > 0 {
		return ing.Status.LoadBalancer.Ingress[0].Hostname
	}
	return ""
}

func (w *testCluster) partition() (*emulated.Partition, func()) {
	all := w.Emulator.Store()
	all.Lock()
	return all.Partition(harness.Account, harness.Region), all.Unlock
}

// runFor lets the controller run for a time.
func (w *testCluster) runFor(d time.Duration) {
	end := time.Now().Add(d)
	if w.settleRunsController {
		w.Settle(d)
	} // else the controller's own workers run
	time.Sleep(time.Until(end))
}
