package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// A run that waits for long says so in the log at its usual level, and a short wait is no news.
func TestLongWaitsForTheRateLimiterAreLogged(t *testing.T) {
	for _, turn := range []time.Duration{time.Second, longTurn, 3 * time.Minute} {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		logTurn(log, turn, errors.New("CreateLoadBalancer"))
		if reported := len(lines) == 1 && strings.Contains(lines[0], "waiting for rate limiter") && strings.Contains(lines[0], "CreateLoadBalancer"); reported != (turn >= longTurn) {
			t.Errorf("%v: %q", turn, lines)
		}
	}
}

// An object that has changed since it was read is no failure of a run: its event is on its way.
func TestStaleObjectsAreWaitedFor(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("translate: %w", cluster.Stale{Ref: cluster.Ref{Kind: cluster.KindIngress, Name: "web"}}), true},
		{errors.New("other"), false},
		{nil, false},
	} {
		if got := stale(t.Context(), c.err); got != c.want {
			t.Errorf("%v: stale %v", c.err, got)
		}
	}
}
