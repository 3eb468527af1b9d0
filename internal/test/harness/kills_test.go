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

// TestRandomKillsLeaveNothing kills the controller at random times during histories of edits by apply and replace: 30
// kills in 10 histories, or 75 in 25 in long test runs. Afterwards a deletion leaves nothing in AWS and no binding,
// no Ingress remains in deletion for long, and no warning reports a change of a previous process as drift.
// FULCRUM_KILLS sets the number of histories, FULCRUM_KILL runs a single one.
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
	areAllDeleted bool // all Ingresses are deleted
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
	k.areAllDeleted = true
	k.deleteIngresses(2)
	k.deleteIngresses(len(walkIngresses))
	k.checkNoDriftWarnings()
	failed := r.Settle(3 * time.Hour)
	if diff := cmp.Diff(before, r.State()); diff != "" {
		t.Errorf("something is left (-before +after), failing: %v\n%s", failed, diff)
	}
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindBinding} {
		for _, o := range r.Store.All(kind) {
			t.Errorf("%s %s/%s is left", kind, o.GetNamespace(), o.GetName())
		}
	}
}

// deleteIngresses deletes n Ingresses, perhaps with a kill in between, and measures how long that takes.
func (k *killer) deleteIngresses(n int) {
	k.t.Helper()
	k.runFor(time.Millisecond) // the controller has seen all edits
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

// terminatingIngresses returns the Ingresses that are being deleted.
func (k *killer) terminatingIngresses() []cluster.Object {
	return slices.DeleteFunc(k.r.Store.All(cluster.KindIngress), func(o cluster.Object) bool { return o.GetDeletionTimestamp() == nil })
}

// edit changes one Ingress or pods, as a user would who does not set finalizers.
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
	case obj == nil && k.areAllDeleted:
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
	case len(obj.GetFinalizers()) > 0 || !k.r.IsDead():
		// An object that lost its finalizer and is deleted while no controller runs is an orphan in AWS, so the
		// controller must run first.
		k.runFor(time.Millisecond)
		delete(k.docs, name)
		if err := k.r.Store.Delete(ref); err != nil {
			k.t.Fatal(err)
		}
		k.log = append(k.log, "delete "+name)
	}
}

// kill ends the controller at a call or between calls, makes further edits, and starts another one.
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

// checkNoDriftWarnings fails the test if a warning reports that rules were revoked by others.
func (k *killer) checkNoDriftWarnings() {
	k.t.Helper()
	for _, o := range k.r.Store.All("Event") {
		if e, ok := o.(*corev1.Event); ok && strings.Contains(e.Message, "RulesRevoked") {
			k.t.Errorf("%s %s/%s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Message)
		}
	}
}
