package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
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
