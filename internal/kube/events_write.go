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

// eventWriter writes events. It reads through a source and writes through an API.
type eventWriter struct {
	source cluster.Source
	api    API
	clock  clock.PassiveClock
	events events
	serial atomic.Uint64
}

// writeEvent records an event and writes a log line for a warning, so that the log has a line
// for each change and none for each repeated run.
func (c *eventWriter) writeEvent(ctx context.Context, ev cluster.Event) {
	obj, err := c.source.Get(ev.Ref)
	if err != nil || obj == nil {
		return
	}
	ev, r, ok := c.events.recordNew(obj.GetUID(), ev, c.clock.Now())
	if !ok {
		return
	}
	log := log.FromContext(ctx).WithValues("object", ev.Ref.String(), "reason", ev.Reason)
	e := eventFor(obj, ev, r, c.serial.Add(1))
	if err := c.api.Create(ctx, e); err != nil {
		c.events.unrecord(obj.GetUID(), ev)
		log.V(1).Info("event not recorded", "err", err.Error())
	}
	c.events.recordName(obj.GetUID(), keyOf(ev), e.Name)
	switch {
	case ev.Fault:
		log.Error(nil, "reported fault", "message", ev.Message)
	case ev.Warning:
		log.Info("reported warning", "message", ev.Message)
	}
}

// lasting records the warnings that last, if the patches are complete for their subject.
func (c *eventWriter) lasting(patches []cluster.Patch) {
	var of string
	var all []lasting
	for _, p := range patches {
		switch p := p.(type) {
		case cluster.Lasting:
			of = p.Of
		case cluster.Event:
			if !p.Warning && !p.Once {
				continue
			}
			if obj, err := c.source.Get(p.Ref); err == nil && obj != nil {
				all = append(all, lasting{uid: obj.GetUID(), ev: p})
			}
		}
	}
	if of != "" {
		c.events.recordLasting(of, all)
	}
}

// maxRaised is how many events one call of RaiseEvents writes.
const maxRaised = 500

// RepeatEvents writes the events of warnings that last once more, before the API server drops them: the
// same Event with its count and time raised. It is to be called about every minute, and does nothing
// while nothing is due.
func (c *Cluster) RepeatEvents(ctx context.Context) {
	c.endFights()
	for _, r := range c.events.due(c.clock.Now(), maxRaised) {
		if ctx.Err() != nil {
			return
		}
		if err := c.emitEventAgain(ctx, r); err != nil {
			c.events.retryEmission(r)
			log.FromContext(ctx).V(1).Info("event not raised", "object", r.ev.Ref.String(), "reason", r.ev.Reason, "err", err.Error())
		}
	}
}

// emitEventAgain updates the event of a warning, or writes another if it is deleted or may not be changed.
func (c *eventWriter) emitEventAgain(ctx context.Context, r raised) error {
	obj, err := c.source.Get(r.ev.Ref)
	if err != nil || obj == nil || obj.GetUID() != r.uid {
		return err
	}
	e := eventFor(obj, r.ev, r.record, c.serial.Add(1))
	if r.name != "" {
		patch, err := json.Marshal(map[string]any{"count": r.count, "lastTimestamp": metav1.NewTime(r.last)})
		if err != nil {
			return fmt.Errorf("event of %s: %w", r.ev.Ref, err)
		}
		same := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: r.name}}
		err = c.api.Patch(ctx, same, cluster.Main, types.MergePatchType, patch)
		if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	if err := c.api.Create(ctx, e); err != nil {
		return err
	}
	c.events.recordName(r.uid, r.key, e.Name)
	return nil
}
