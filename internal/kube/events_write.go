package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// eventWriter writes events. It reads the objects of the events from source, and writes with api.
type eventWriter struct {
	source cluster.Source
	api    API
	clock  clock.PassiveClock
	events eventFilter
	serial atomic.Uint64
}

// readFromAPIServer reads an object from the API server, and not from the cache.
func (c *eventWriter) readFromAPIServer(ctx context.Context, ref cluster.Ref) (cluster.Object, error) {
	typ, ok := cluster.TypeOf(ref.Kind)
	if !ok {
		return nil, fmt.Errorf("%s has no known kind", ref)
	}
	obj := typ.New()
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	return obj, c.api.Read(ctx, obj)
}

// writeEvent writes an event, and a log line if the event is a warning. It skips an event that was written before, so that
// repeated runs write neither events nor log lines. Errors are only logged.
func (c *eventWriter) writeEvent(ctx context.Context, ev cluster.Event) {
	obj, err := c.source.Get(ev.Ref)
	if err != nil || obj == nil {
		return
	}
	ev, r, ok := c.events.recordNewEvent(obj.GetUID(), ev, c.clock.Now())
	if !ok {
		return
	}
	log := log.FromContext(ctx).WithValues("object", ev.Ref.String(), "reason", ev.Reason)
	e := eventFor(obj, ev, r, c.serial.Add(1))
	if err := c.api.Create(ctx, e); err != nil {
		c.events.removeRecord(obj.GetUID(), ev)
		log.V(1).Info("failed to record event", "err", err.Error())
	}
	c.events.recordName(obj.GetUID(), eventKeyOf(ev), e.Name)
	switch {
	case ev.Fault:
		log.Error(nil, "reported fault", "message", ev.Message)
	case ev.Warning:
		log.Info("reported warning", "message", ev.Message)
	}
}

// recordLastingWarnings records all warnings in patches as the lasting warnings of a subject. The subject is in the
// cluster.LastingWarnings in patches. If patches contains none, nothing is recorded.
func (c *eventWriter) recordLastingWarnings(patches []cluster.Patch) {
	subject := subjectOf(patches)
	if subject == "" {
		return
	}
	var warnings []lastingWarning
	for _, p := range patches {
		ev, ok := p.(cluster.Event)
		if !ok || !ev.Warning && !ev.Once {
			continue
		}
		if obj, err := c.source.Get(ev.Ref); err == nil && obj != nil {
			warnings = append(warnings, lastingWarning{uid: obj.GetUID(), ev: ev})
		}
	}
	c.events.recordLasting(subject, warnings)
}

// subjectOf returns the subject of the lasting warnings in patches, such as the ID of a stack; "" if patches contains no
// cluster.LastingWarnings.
func subjectOf(patches []cluster.Patch) (subject string) {
	for _, p := range patches {
		if l, ok := p.(cluster.LastingWarnings); ok {
			subject = l.Subject
		}
	}
	return subject
}

// maxRepeatedEvents is the maximum number of events that one call of RepeatEvents writes.
const maxRepeatedEvents = 500

// RepeatEvents updates the count and time of the events of lasting warnings, so that the API server does not delete them. It
// must be called about once a minute, and writes only events that are due.
func (c *Cluster) RepeatEvents(ctx context.Context) {
	c.endUndoneWriteWarnings()
	for _, due := range c.events.takeDueWarnings(c.clock.Now(), maxRepeatedEvents) {
		if ctx.Err() != nil {
			return
		}
		if err := c.emitEventAgain(ctx, due); err != nil {
			c.events.retryEmission(due)
			log.FromContext(ctx).V(1).Info("failed to emit event again", "object", due.ev.Ref.String(), "reason", due.ev.Reason, "err", err.Error())
		}
	}
}

// emitEventAgain updates the event of a lasting warning. It creates a new event if the old event does not exist any more, or
// if the permission to change events is missing.
func (c *eventWriter) emitEventAgain(ctx context.Context, due dueWarning) error {
	obj, err := c.source.Get(due.ev.Ref)
	if err != nil || obj == nil || obj.GetUID() != due.uid {
		return err
	}
	e := eventFor(obj, due.ev, due.eventRecord, c.serial.Add(1))
	if due.name != "" {
		patch, err := json.Marshal(map[string]any{"count": due.count, "lastTimestamp": metav1.NewTime(due.last)})
		if err != nil {
			return fmt.Errorf("event of %s: %w", due.ev.Ref, err)
		}
		existing := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: due.name}}
		err = c.api.Patch(ctx, existing, cluster.MainPart, types.MergePatchType, patch)
		if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	if err := c.api.Create(ctx, e); err != nil {
		return err
	}
	c.events.recordName(due.uid, due.key, e.Name)
	return nil
}
