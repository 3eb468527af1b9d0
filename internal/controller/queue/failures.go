package queue

import (
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// failureText returns the text by which errors are compared: the beginning of the error message, without request IDs.
func failureText(err error) string {
	text := failure.WithoutRequestID(err.Error())
	return text[:min(len(text), maxComparedBytes)]
}

// maxComparedBytes is the maximum length in bytes of the result of failureText.
const maxComparedBytes = 512

// runFailedMessage is the log message of controller-runtime about a run that returned an error.
const runFailedMessage = "Reconciler error"

// changedFailureSink is the log sink for the runs of an item. It logs the error of a run only if it differs from the error
// of the previous run; repeated errors are logged at the debug level. The sink stores the values of the logger, and adds
// them to each line. The values are not passed to WithValues of LogSink, because WithValues encodes values immediately, and
// most runs log nothing.
type changedFailureSink[K comparable] struct {
	logr.LogSink
	items  *items[K]
	item   K
	values []any
}

// Info implements logr.LogSink.
func (n changedFailureSink[K]) Info(level int, message string, keys ...any) {
	n.LogSink.Info(level, message, slices.Concat(n.values, keys)...)
}

// Error implements logr.LogSink.
func (n changedFailureSink[K]) Error(err error, message string, keys ...any) {
	if message != runFailedMessage || n.items.recordFailure(n.item, err) {
		n.LogSink.Error(err, message, slices.Concat(n.values, keys)...)
		return
	}
	if n.Enabled(1) {
		n.Info(1, message, append(keys, "err", err.Error())...)
	}
}

// WithName implements logr.LogSink.
func (n changedFailureSink[K]) WithName(name string) logr.LogSink {
	n.LogSink = n.LogSink.WithName(name)
	return n
}

// WithValues implements logr.LogSink.
func (n changedFailureSink[K]) WithValues(keys ...any) logr.LogSink {
	n.values = slices.Concat(n.values, keys)
	return n
}

// LogPostponed logs that a run is repeated after a delay, because the rate limiter has postponed a call, or because a change
// has not arrived in the cache yet. Long delays are logged at the info level, short delays at the debug level.
func LogPostponed(log logr.Logger, delay time.Duration, err error) {
	level, message := 1, "waiting for rate limiter"
	if delay >= durations.RequestTimeout {
		level = 0
	}
	if errors.As(err, new(cluster.StaleError)) {
		message = "waiting for a change to arrive"
	}
	log.V(level).Info(message, "retryAfter", delay.Round(time.Second).String(), "err", err.Error())
}
