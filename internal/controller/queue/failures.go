package queue

import (
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// requestID is what differs in the answers of AWS to the same call.
var requestID = regexp.MustCompile(`(?i)request ?id: ?[0-9a-f-]{8,}`)

// failureText returns what is compared of an error.
func failureText(err error) string {
	text := requestID.ReplaceAllString(err.Error(), "")
	return text[:min(len(text), mostText)]
}

// mostText is how much of an error is compared.
const mostText = 512

// failedRun is the message of controller-runtime about a run that returned an error.
const failedRun = "Reconciler error"

// noting is the sink of an item: of the errors of its runs it passes on those that differ from the last one, the others
// at the debug level. The values of a logger are passed on with each line, since
// most runs write none and a sink encodes them at once.
type noting[K comparable] struct {
	logr.LogSink
	items  *items[K]
	item   K
	values []any
}

// Info implements the sink.
func (n noting[K]) Info(level int, message string, keys ...any) {
	n.LogSink.Info(level, message, slices.Concat(n.values, keys)...)
}

// Error implements the sink.
func (n noting[K]) Error(err error, message string, keys ...any) {
	if message != failedRun || n.items.changedFailure(n.item, err) {
		n.LogSink.Error(err, message, slices.Concat(n.values, keys)...)
		return
	}
	if n.Enabled(1) {
		n.Info(1, message, append(keys, "err", err.Error())...)
	}
}

// WithName implements the sink.
func (n noting[K]) WithName(name string) logr.LogSink {
	n.LogSink = n.LogSink.WithName(name)
	return n
}

// WithValues implements the sink.
func (n noting[K]) WithValues(keys ...any) logr.LogSink {
	n.values = slices.Concat(n.values, keys)
	return n
}

// LogTurn logs that a run waits for the turn of a call, or for a change that has not arrived.
func LogTurn(log logr.Logger, turn time.Duration, err error) {
	level, message := 1, "waiting for rate limiter"
	if turn >= durations.Request {
		level = 0
	}
	if errors.As(err, new(cluster.Stale)) {
		message = "waiting for a change to arrive"
	}
	log.V(level).Info(message, "retryAfter", turn.Round(time.Second).String(), "err", err.Error())
}
