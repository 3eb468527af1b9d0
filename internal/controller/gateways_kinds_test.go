package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// fakeKindReader is a kindReader. read has the kinds that are watched, and used has the kinds that have objects.
type fakeKindReader struct{ read, used map[cluster.Kind]bool }

func (k fakeKindReader) Installed(kind cluster.Kind) bool { return k.read[kind] }

func (k fakeKindReader) StartKinds(_ context.Context, kinds, _ []cluster.Kind) error {
	for _, kind := range kinds {
		k.read[kind] = true
	}
	return nil
}

func (k fakeKindReader) StopKinds(_ context.Context, kinds, _ []cluster.Kind) ([]cluster.Kind, error) {
	ended := slices.DeleteFunc(slices.Clone(kinds), func(kind cluster.Kind) bool { return k.used[kind] })
	for _, kind := range ended {
		delete(k.read, kind)
	}
	return ended, nil
}

// TestRemovedKindsAreWatchedAfterReinstallation checks that kinds whose CRD is removed are no longer watched, and are
// watched again after the CRD is reinstalled. A kind that temporarily cannot be listed, or that still has objects, is not
// treated as removed.
func TestRemovedKindsAreWatchedAfterReinstallation(t *testing.T) {
	gates := config.Default().Gates
	found := kube.Installation{ServedKinds: map[cluster.Kind]bool{}, DeniedKinds: map[cluster.Kind]error{}}
	for _, k := range wantedKinds(gates, false) {
		found.ServedKinds[k] = true
	}
	source := fakeKindReader{map[cluster.Kind]bool{}, map[cluster.Kind]bool{}}
	w := &kindsWatch{gates: gates, source: source, log: logr.Discard(), findKinds: func(context.Context, []cluster.Kind) (kube.Installation, error) { return found, nil }}
	look := func(all, routes bool) {
		t.Helper()
		done := false
		for range 2 {
			var err error
			if done, err = w.updateKinds(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if done != all || source.Installed(cluster.KindTCPRoute) != routes {
			t.Errorf("all are there: %t, TCPRoutes: %t", done, source.Installed(cluster.KindTCPRoute))
		}
	}
	look(true, true)
	found.DeniedKinds[cluster.KindTCPRoute], found.ServedKinds[cluster.KindTCPRoute] = context.DeadlineExceeded, false
	look(true, true)
	delete(found.DeniedKinds, cluster.KindTCPRoute)
	source.used[cluster.KindTCPRoute] = true
	look(true, true)
	source.used[cluster.KindTCPRoute] = false
	look(false, false)
	found.ServedKinds[cluster.KindTCPRoute] = true
	look(true, true)
}

// failingKindReader is a kindReader whose StartKinds fails.
type failingKindReader struct{ fakeKindReader }

func (failingKindReader) StartKinds(context.Context, []cluster.Kind, []cluster.Kind) error {
	return errors.New("the API server does not respond")
}

// TestFailureToStartKindsIsLoggedOnce checks that a failure that is repeated in each round is logged once, and so are the
// features that are served.
func TestFailureToStartKindsIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates := config.Default().Gates
		found := kube.Installation{ServedKinds: map[cluster.Kind]bool{}, DeniedKinds: map[cluster.Kind]error{}}
		for _, k := range wantedKinds(gates, false) {
			found.ServedKinds[k] = true
		}
		lines := map[string]int{}
		w := &kindsWatch{
			gates: gates, source: failingKindReader{fakeKindReader{map[cluster.Kind]bool{}, map[cluster.Kind]bool{}}},
			findKinds: func(context.Context, []cluster.Kind) (kube.Installation, error) { return found, nil },
			log:       funcr.New(func(_, args string) { lines[args]++ }, funcr.Options{}),
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := w.run(ctx, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if len(lines) != 2 {
			t.Errorf("want two log lines, got %v", lines)
		}
		for line, n := range lines {
			if n != 1 {
				t.Errorf("%d times: %s", n, line)
			}
		}
	})
}
