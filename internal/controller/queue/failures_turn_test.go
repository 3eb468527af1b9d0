package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// TestLongWaitsForTheRateLimiterAreLogged checks that a long wait for the rate limiter is logged at the info level, and a
// short one is not.
func TestLongWaitsForTheRateLimiterAreLogged(t *testing.T) {
	for _, turn := range []time.Duration{time.Second, durations.RequestTimeout, 3 * time.Minute} {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		LogPostponed(log, turn, errors.New("CreateLoadBalancer"))
		if reported := len(lines) == 1 && strings.Contains(lines[0], "waiting for rate limiter") && strings.Contains(lines[0], "CreateLoadBalancer"); reported != (turn >= durations.RequestTimeout) {
			t.Errorf("%v: %q", turn, lines)
		}
	}
}

// TestStaleObjectsCauseNoFailure checks that a run that has read a stale object does not count as failed, because the event
// about the new state is about to arrive.
func TestStaleObjectsCauseNoFailure(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	stale := fmt.Errorf("translate: %w", cluster.StaleError{Ref: cluster.Ref{Kind: cluster.KindIngress, Name: "web"}})
	for _, want := range []struct {
		err   error
		after time.Duration
	}{{stale, time.Second}, {errors.New("other"), 0}} {
		l := Controller[string]{
			Triggers:   NewTriggers(storedObjects{store}, nil, noItemChanges{}),
			Reconciler: runFunc(func(context.Context, string) (NextRun, error) { return NextRun{}, want.err }),
		}
		l.items = newItems(l)
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
		next, err := l.reconcile(logr.NewContext(t.Context(), log), "a")
		if failed := want.after == 0; (err != nil) != failed || next.RequeueAfter != want.after {
			t.Errorf("%v: next after %v, error %v", want.err, next.RequeueAfter, err)
		}
		if text := strings.Join(lines, " "); strings.Contains(text, "waiting for a change to arrive") != (want.after > 0) || strings.Contains(text, "rate limiter") {
			t.Errorf("%v: logged %q", want.err, text)
		}
	}
}
