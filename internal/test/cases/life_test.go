package cases

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestCasesAfterRestartAndDeletion applies all cases to one cluster, with an AWS that returns short pages. A restart must
// change nothing, and no resources may remain after the objects are deleted.
func TestCasesAfterRestartAndDeletion(t *testing.T) {
	t.Parallel()
	for name, lag := range map[string]time.Duration{"own tags": 0, "tagging service": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { checkRestartAndDeletion(t, lag) }) })
	}
}

// checkRestartAndDeletion checks a restart and a deletion. If lag is not 0, the controller finds load balancers with the
// Resource Groups Tagging API, which shows changes after this delay.
func checkRestartAndDeletion(t *testing.T, lag time.Duration) {
	t.Helper()
	config := store.DefaultConfig()
	config.PageSize = 3
	r := NewHarness(t, harness.Options{TaggingLag: lag, Emulator: emulator.Options{Seed: 7, Config: &config}})
	before := r.State()
	names := Names(t)
	slices.Reverse(names)
	NewLoader(t, r).ApplyAll(t, names)
	r.Settle(controllerRunTime)
	var sum summary
	made := ReadRecord(t, r)
	for _, name := range Names(t) {
		sum.compare(t, name, recordOf(made, name), nil)
	}
	t.Log(sum.String())

	r.Emulator.Calls().Reset()
	state := r.State()
	r.Start()
	r.Settle(2 * time.Hour)
	if n := r.Emulator.Calls().CountMutating(); n > 0 {
		t.Errorf("a restart made %d mutating calls: %v", n, mutatingCalls(r))
	}
	if found := cmp.Diff(state, r.State()); found != "" {
		t.Errorf("a restart changed AWS (-before +after):\n%s", found)
	}

	for _, obj := range slices.Concat(r.Store.All(cluster.KindIngress), r.Store.All(cluster.KindService), r.Store.All(cluster.KindGateway)) {
		if err := r.Store.Delete(cluster.RefOf(obj)); err != nil {
			t.Fatal(err)
		}
	}
	failed := r.Settle(time.Hour)
	for _, k := range slices.Sorted(maps.Keys(failed)) {
		t.Errorf("%s: %v", k, failed[k])
	}
	if found := cmp.Diff(before, r.State()); found != "" {
		t.Errorf("resources remain after deletion (-before +after):\n%s", found)
	}
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindService, cluster.KindGateway, cluster.KindBinding} {
		for _, obj := range r.Store.All(kind) {
			t.Errorf("%s is left, with finalizers %v", cluster.RefOf(obj), obj.GetFinalizers())
		}
	}
}

// mutatingCalls counts the mutating calls by operation.
func mutatingCalls(r *harness.Harness) map[string]int {
	out := map[string]int{}
	for _, e := range r.Emulator.Calls().Entries() {
		if e.Mutating {
			out[e.Operation]++
		}
	}
	return out
}
