package harness

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestRandomKillsLeaveNothing kills the controller at random times during histories of edits by apply and replace.
// There are 10 histories with at least three kills each, or 25 in the long form. No Ingress is being deleted for more
// than a minute, and no warning reports the changes of an earlier process as drift. After all Ingresses are deleted, no
// resource remains in AWS, and no Ingress and no binding in the cluster. FULCRUM_KILLS sets the number of histories,
// and FULCRUM_KILL is the seed of a single history to run.
func TestRandomKillsLeaveNothing(t *testing.T) {
	t.Parallel()
	first, last := uint64(0), uint64(seeds.Amount(10, 25))
	if n, err := strconv.ParseUint(os.Getenv("FULCRUM_KILLS"), 10, 32); err == nil {
		last = n
	}
	if n, err := strconv.ParseUint(os.Getenv("FULCRUM_KILL"), 10, 32); err == nil {
		first, last = n, n+1
	}
	for seed := first; seed < last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { runKillHistory(t, seed) }) })
	}
}

// killer runs one history of edits and kills.
type killer struct {
	walker
	t             *testing.T
	r             *Harness
	docs          walkDocs
	log           []string
	createsNoMore bool // edit creates no more Ingresses
}

func runKillHistory(t *testing.T, seed uint64) {
	w, r := newWalkWith(t, seed, Options{Checkpoints: true})
	k := killer{walker: w, t: t, r: r, docs: walkDocs{}}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, strings.Join(k.log, "\n"))
		}
	}()
	before := r.State()
	for kills := 0; kills < 3; {
		k.edit()
		if k.chance(50) {
			k.runFor([]time.Duration{0, 100 * time.Millisecond, 3 * time.Second, 20 * time.Second, 5 * time.Minute}[k.IntN(5)])
			continue
		}
		k.kill()
		kills++
	}
	if k.chance(50) {
		k.runFor(10 * time.Minute)
	}
	k.createsNoMore = true
	k.deleteIngresses(2)
	k.deleteIngresses(len(walkIngresses))
	k.checkNoDriftWarnings()
	failed := r.Settle(3 * time.Hour)
	if diff := cmp.Diff(before, r.State()); diff != "" {
		t.Errorf("resources are left (-before +after), failing: %v\n%s", failed, diff)
	}
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindBinding} {
		for _, o := range r.Store.All(kind) {
			t.Errorf("%s %s/%s is left", kind, o.GetNamespace(), o.GetName())
		}
	}
}

// deleteIngresses deletes up to n Ingresses, and kills the controller afterwards in half of all cases. It fails the
// test if the deletion takes longer than a minute.
func (k *killer) deleteIngresses(n int) {
	k.t.Helper()
	k.runFor(time.Millisecond) // lets the controller see all edits
	for _, name := range sortedKeys(k.docs) {
		if n--; n < 0 {
			break
		}
		namespace, short, _ := strings.Cut(name, "/")
		if err := k.r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: short}); err != nil {
			k.t.Fatal(err)
		}
		delete(k.docs, name)
		k.log = append(k.log, "delete "+name)
	}
	if k.chance(50) {
		k.kill()
	}
	begun := time.Now()
	for len(k.terminatingIngresses()) > 0 && time.Since(begun) < time.Hour {
		k.r.Settle(time.Second)
		time.Sleep(time.Second)
	}
	if took := time.Since(begun); took > time.Minute {
		k.t.Errorf("Ingresses were being deleted for %v", took)
	}
	k.log = append(k.log, "deleted")
}

func (k *killer) terminatingIngresses() []cluster.Object {
	return slices.DeleteFunc(k.r.Store.All(cluster.KindIngress), func(o cluster.Object) bool { return o.GetDeletionTimestamp() == nil })
}

// edit makes one random change of an Ingress or of the pods of a Service, like a user. Replaced Ingresses lose their
// finalizers.
func (k *killer) edit() {
	if k.chance(20) {
		n := k.IntN(len(walkServices))
		k.r.Apply(k.endpoints(walkServices[n][0], walkServices[n][1], n))
		k.log = append(k.log, "endpoints of "+walkServices[n][1])
		return
	}
	in := walkIngresses[k.IntN(len(walkIngresses))]
	name := in[0] + "/" + in[1]
	ref := cluster.Ref{Kind: cluster.KindIngress, Namespace: in[0], Name: in[1]}
	obj, _ := k.r.Store.Get(ref)
	doc := k.ingress(in[0], in[1], true)
	switch {
	case obj == nil && k.createsNoMore:
	case obj == nil:
		k.docs[name] = doc
		k.r.Apply(doc)
		k.log = append(k.log, "create "+name+doc)
	case obj.GetDeletionTimestamp() != nil:
	case k.chance(50):
		k.docs[name] = doc
		k.r.Replace(doc)
		k.log = append(k.log, "replace "+name+doc)
	case k.chance(70):
		k.docs[name] = doc
		k.r.Apply(doc)
		k.log = append(k.log, "apply "+name+doc)
	case len(obj.GetFinalizers()) > 0 || !k.r.WasKilled():
		// If an Ingress without finalizer is deleted while no controller runs, its AWS resources become orphans. A
		// running controller therefore first gets the time to add the finalizer.
		k.runFor(time.Millisecond)
		delete(k.docs, name)
		if err := k.r.Store.Delete(ref); err != nil {
			k.t.Fatal(err)
		}
		k.log = append(k.log, "delete "+name)
	}
}

// kill kills the controller at a call or between calls, makes up to two edits, and starts a new process.
func (k *killer) kill() {
	faults := k.r.Emulator.Faults()
	if k.chance(70) {
		n := 1 + k.IntN(12)
		faults.SetHook(func(c fault.Call) fault.Action {
			if n--; n == 0 {
				k.r.Kill()
			}
			return fault.Action{}
		})
		k.r.Settle(time.Duration(k.IntN(int(30 * time.Second))))
	}
	k.r.Kill()
	k.log = append(k.log, "kill")
	for range k.IntN(3) {
		k.edit()
	}
	time.Sleep(time.Duration(k.IntN(int(20 * time.Second))))
	faults.SetHook(nil)
	k.log = append(k.log, "start")
	k.r.Start()
}

func (k *killer) runFor(d time.Duration) {
	k.t.Helper()
	k.log = append(k.log, "rest "+d.String())
	k.r.Settle(d)
}

// checkNoDriftWarnings fails the test if an event reports that security group rules were revoked outside the
// controller.
func (k *killer) checkNoDriftWarnings() {
	k.t.Helper()
	for _, o := range k.r.Store.All("Event") {
		if e, ok := o.(*corev1.Event); ok && strings.Contains(e.Message, "RulesRevoked") {
			k.t.Errorf("%s %s/%s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Message)
		}
	}
}
