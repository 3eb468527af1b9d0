package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// fleet simulates a Deployment of Service "web" with the kubelets and controllers of Kubernetes: containers become
// ready, pod conditions follow, the EndpointSlice is updated, and terminating pods remain for 30 seconds.
type fleet struct {
	r    *Harness
	size int
	// gate is the readiness gate of new pods, or "" for none.
	gate corev1.PodConditionType
	// minReady is how long a new pod must have been ready before an old one is deleted.
	minReady time.Duration

	version       int
	pods          []*fleetPod
	freeAddresses []string
	serial        int
	published     map[string]string // text of the last published form, by the name of the object
}

type fleetPod struct {
	name, ip     string
	node         int
	version      int
	gate         corev1.PodConditionType
	creationTime time.Time
	readySince   time.Time
	deletionTime time.Time
}

const (
	containerStartTime = 2 * time.Second
	podTerminationTime = 30 * time.Second
	tick               = 200 * time.Millisecond
)

// slowChecks returns emulator options with slow registration and health checks.
func slowChecks() emulator.Options {
	c := store.DefaultConfig()
	c.ELB.RegistrationDelayALB, c.ELB.RegistrationDelayNLB = 3*time.Second, 3*time.Second
	c.InitialHealthDelay = 10 * time.Second
	return emulator.Options{Config: &c}
}

func newFleet(t *testing.T, r *Harness, size int) *fleet {
	t.Helper()
	f := &fleet{r: r, size: size, version: 1, published: map[string]string{}}
	for i, base := range []string{"10.0.133.", "10.0.149.", "10.0.165."} {
		var own []string
		for n := range 8 {
			own = append(own, fmt.Sprintf("%s%d", base, n+1))
		}
		if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[i], own...); err != nil {
			t.Fatal(err)
		}
		f.freeAddresses = append(f.freeAddresses, own...)
	}
	for range size {
		f.createPod()
	}
	return f
}

// createPod creates a pod of the current version.
func (f *fleet) createPod() {
	i := f.serial * 7 % len(f.freeAddresses)
	ip := f.freeAddresses[i]
	f.freeAddresses = slices.Delete(slices.Clone(f.freeAddresses), i, i+1)
	node := map[string]int{"10.0.133": 0, "10.0.149": 1, "10.0.165": 2}[ip[:strings.LastIndexByte(ip, '.')]]
	f.serial++
	f.pods = append(f.pods, &fleetPod{name: fmt.Sprintf("web-%d", f.serial), ip: ip, node: node, version: f.version, gate: f.gate, creationTime: time.Now()})
}

// remainingPods returns the pods that are not terminating.
func (f *fleet) remainingPods() []*fleetPod {
	return slices.DeleteFunc(slices.Clone(f.pods), func(m *fleetPod) bool { return !m.deletionTime.IsZero() })
}

// isRolledOut reports whether all pods are ready and have the current version.
func (f *fleet) isRolledOut() bool {
	return len(f.remainingPods()) == f.size && !slices.ContainsFunc(f.remainingPods(), func(m *fleetPod) bool { return m.version != f.version || m.readySince.IsZero() })
}

// rollOneStep makes one step of a rolling update with maxSurge 1 and maxUnavailable 0.
func (f *fleet) rollOneStep() {
	alive := f.remainingPods()
	available := 0
	for _, m := range alive {
		if !m.readySince.IsZero() && (m.version < f.version || time.Since(m.readySince) >= f.minReady) {
			available++
		}
	}
	old := slices.IndexFunc(alive, func(m *fleetPod) bool { return m.version < f.version })
	switch {
	case old < 0:
	case available > f.size:
		alive[old].deletionTime = time.Now()
	case len(alive) == f.size && available == f.size:
		f.createPod()
	}
}

// publish writes the Pods and the EndpointSlice to the store, and deletes pods that have terminated.
func (f *fleet) publish() {
	f.r.T.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Namespace: "shop", Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
			CreationTimestamp: metav1.NewTime(time.Unix(0, 0)),
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(string), Port: pointer(int32(8080))}},
	}
	kept := f.pods[:0]
	for _, m := range f.pods {
		if !m.deletionTime.IsZero() && time.Since(m.deletionTime) >= podTerminationTime {
			_ = f.r.Store.Delete(cluster.Ref{Kind: cluster.KindPod, Namespace: "shop", Name: m.name})
			continue
		}
		kept = append(kept, m)
		pod := f.pod(m)
		f.put(pod)
		leaving := !m.deletionTime.IsZero()
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{m.ip},
			Conditions: discoveryv1.EndpointConditions{Ready: pointer(!leaving && !m.readySince.IsZero()), Serving: pointer(!m.readySince.IsZero()), Terminating: &leaving},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: m.name, UID: types.UID(m.name)},
		})
	}
	f.pods = kept
	f.put(slice)
}

// put stores an object if it has changed since the last call.
func (f *fleet) put(obj cluster.Object) {
	f.r.T.Helper()
	key, text := obj.GetName(), fmt.Sprintf("%+v", obj)
	if f.published[key] == text {
		return
	}
	f.published[key] = text
	if err := f.r.Store.Put(obj); err != nil {
		f.r.T.Fatal(err)
	}
}

// pod returns the Pod of m, with the condition that the controller has set for its readiness gate. It updates
// m.readySince.
func (f *fleet) pod(m *fleetPod) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.name, Namespace: "shop", UID: types.UID(m.name), Labels: map[string]string{"app": "web"},
			CreationTimestamp: metav1.NewTime(m.creationTime.Truncate(time.Second)),
		},
		Spec:   corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", m.node), Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: m.ip, PodIPs: []corev1.PodIP{{IP: m.ip}}},
	}
	if !m.deletionTime.IsZero() {
		at := metav1.NewTime(m.deletionTime)
		p.DeletionTimestamp = &at
	}
	running := time.Since(m.creationTime) >= containerStartTime
	ready := running
	set := func(t corev1.PodConditionType, on bool) {
		s := corev1.ConditionFalse
		if on {
			s = corev1.ConditionTrue
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: s})
	}
	if m.gate != "" {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: m.gate}}
		shown, ok := f.gateCondition(m)
		if ok {
			p.Status.Conditions = append(p.Status.Conditions, shown)
		}
		ready = ready && shown.Status == corev1.ConditionTrue
	}
	set(corev1.ContainersReady, running)
	set(corev1.PodReady, ready)
	switch {
	case !ready:
		m.readySince = time.Time{}
	case m.readySince.IsZero():
		m.readySince = time.Now()
	}
	return p
}

// gateCondition returns the condition of the stored Pod for the readiness gate of m, and false if there is none.
func (f *fleet) gateCondition(m *fleetPod) (corev1.PodCondition, bool) {
	obj, err := f.r.Store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "shop", Name: m.name})
	if err != nil {
		f.r.T.Fatal(err)
	}
	if obj != nil {
		for _, c := range obj.(*corev1.Pod).Status.Conditions {
			if c.Type == m.gate {
				return c, true
			}
		}
	}
	return corev1.PodCondition{}, false
}

// runUntil runs the fleet and the controller until done returns true, for at most limit, and reports whether done
// returned true. It calls each once per tick.
func (f *fleet) runUntil(limit time.Duration, each func(), done func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		f.publish()
		each()
		if done() {
			return true
		}
		next := time.Now().Add(tick)
		f.r.Settle(time.Until(next))
		if wait := time.Until(next); wait > 0 {
			time.Sleep(wait)
		}
	}
	return false
}

// targetWatcher checks the registered targets after every call to AWS.
type targetWatcher struct {
	r           *Harness
	everHealthy map[string]bool // by address: whether the target was healthy at some time
	violations  []string
	// minTargets is the minimum number of targets after that number was first reached.
	minTargets int
	// needsHealthyTarget is set if at least one registered target must have been healthy at some time.
	needsHealthyTarget bool
}

// watchTargets installs a fault hook that checks the targets. least is minTargets, and compared is needsHealthyTarget
// of the watcher.
func (r *Harness) watchTargets(least int, compared bool) *targetWatcher {
	w := &targetWatcher{r: r, everHealthy: map[string]bool{}, minTargets: least, needsHealthyTarget: compared}
	r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		return fault.Action{After: func() { w.checkTargets(c.Operation) }}
	})
	return w
}

// activeTargetHealth returns the health of the targets that are not draining, by target ID, in target groups with
// tags.
func (r *Harness) activeTargetHealth() map[string]string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	out := map[string]string{}
	for _, g := range p.ELB.TargetGroups {
		if len(g.Tags) == 0 {
			continue
		}
		for _, t := range g.Targets {
			if !t.IsDraining() {
				out[t.ID] = string(p.TargetHealth(g, t, time.Now()).State)
			}
		}
	}
	return out
}

// checkTargets records a violation if there are too few or no proven targets. why is the cause of the check. It does
// nothing before minTargets targets were healthy.
func (w *targetWatcher) checkTargets(why string) {
	active := w.r.activeTargetHealth()
	proven := 0
	for id, state := range active {
		if state == "healthy" {
			w.everHealthy[id] = true
		}
		if w.everHealthy[id] {
			proven++
		}
	}
	if len(w.everHealthy) < w.minTargets {
		return // the targets are not complete yet
	}
	if w.needsHealthyTarget && proven == 0 {
		w.violations = append(w.violations, fmt.Sprintf("after %s no registered target was ever healthy: %v", why, active))
	}
	if len(active) < w.minTargets {
		w.violations = append(w.violations, fmt.Sprintf("after %s only %d targets are registered: %v", why, len(active), active))
	}
}

func pointer[T any](v T) *T { return &v }
