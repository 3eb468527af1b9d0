package controller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestOrphansAreLoggedOnceAndCounted checks that the metric has the resources of all orphans after each search, and that
// each orphan is logged only once.
func TestOrphansAreLoggedOnceAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		m := NewMetrics()
		var looks atomic.Int32
		orphan := Orphan{ID: model.StackID{Kind: model.Ingress, Name: "one"}, Resources: []string{"lb", "sg"}}
		find := func(context.Context) ([]Orphan, error) {
			if looks.Add(1) > 3 {
				return nil, nil
			}
			return []Orphan{orphan}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- watchOrphans(ctx, func(context.Context) error { return nil }, find, m, log)
		}()
		time.Sleep(durations.SweepInterval + 2*durations.OrphanSearchInterval + time.Minute)
		synctest.Wait()
		if n := testutil.ToFloat64(m.orphans); n != 2 || looks.Load() != 3 {
			t.Errorf("%v orphans after %d looks", n, looks.Load())
		}
		if len(lines) != 1 || !strings.Contains(lines[0], `"stack"="one"`) || !strings.Contains(lines[0], "create an object") {
			t.Errorf("lines: %q", lines)
		}
		time.Sleep(durations.OrphanSearchInterval)
		synctest.Wait()
		if n := testutil.ToFloat64(m.orphans); n != 0 {
			t.Errorf("%v orphans although they are gone", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
