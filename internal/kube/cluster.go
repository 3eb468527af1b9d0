package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Cluster reads through a source and writes through an API. It implements engine.Cluster.
type Cluster struct {
	*fieldWriter
	bindings bindingWriter

	// Members are what Ingresses are and were part of. Its Saw must be called with each event.
	Members *cluster.Memberships
	// Store, if not nil, keeps Members beyond the life of this process.
	Store MembershipStore
}

// MembershipStore stores what Ingresses are and were part of.
type MembershipStore interface {
	// Keep stores what has changed. It is called after this process has made an Ingress part of a stack and before
	// anything is made for it.
	Keep(ctx context.Context)
}

var _ engine.Cluster = (*Cluster)(nil)

// New returns a cluster. clock is that of event times.
func New(source cluster.Source, api API, clock clock.PassiveClock) *Cluster {
	w := &fieldWriter{eventWriter: &eventWriter{source: source, api: api, clock: clock}}
	return &Cluster{fieldWriter: w, bindings: bindingWriter{w}, Members: cluster.NewMemberships()}
}

// View implements engine.Cluster.
func (c *Cluster) View() *cluster.View { return cluster.NewView(c.source).WithMemberships(c.Members) }

// Class implements engine.Cluster.
func (c *Cluster) Class(err error) engine.Class { return Classify(err) }

// Bindings implements engine.Cluster.
func (c *Cluster) Bindings(v *cluster.View, id model.StackID) []observed.Binding {
	found := cluster.List[*elbv2.TargetGroupBinding](v, ownership.BindingsOf(id))
	out := make([]observed.Binding, 0, len(found))
	for _, b := range found {
		out = append(out, observedBinding(b))
	}
	return out
}

// Subscribe implements engine.Cluster.
func (c *Cluster) Subscribe(v *cluster.View, id model.StackID) {
	v.SubscribeList(ownership.BindingsOf(id))
}

// Apply implements engine.Cluster. Every step may be repeated: one that is carried out already
// succeeds without a write.
func (c *Cluster) Apply(ctx context.Context, _ model.StackID, s plan.Step, known plan.KnownIDs) (plan.Result, error) {
	switch do := s.Do.(type) {
	case plan.ClaimFinalizer:
		return plan.Result{}, c.claim(ctx, do)
	case plan.ReleaseFinalizer:
		return plan.Result{}, c.release(ctx, do)
	case plan.PutBinding:
		return c.bindings.putBinding(ctx, do, known)
	case plan.DeleteBinding:
		b := &elbv2.TargetGroupBinding{}
		b.Namespace, b.Name = do.Namespace, do.Name
		return plan.Result{}, ignoreNotFound(c.api.Delete(ctx, b))
	case plan.RecordAccelerator:
		return plan.Result{}, c.recordAccelerator(ctx, do, known)
	}
	return plan.Result{}, fmt.Errorf("step %s does not change Kubernetes", s.ID)
}

// eventStatus is the reason of the event when a status cannot be written.
const eventStatus = "FailedUpdateStatus"

// Write implements engine.Cluster. An annotation or an event that cannot be written is logged and
// forgotten: it must not keep a load balancer from being reconciled.
func (c *Cluster) Write(ctx context.Context, patches []cluster.Patch) error {
	var errs []error
	c.renew(patches)
	defer c.lasting(patches)
	for _, p := range patches {
		switch p := p.(type) {
		case cluster.ObjectStatus:
			err := c.writeStatus(ctx, p)
			if err != nil && ctx.Err() == nil && !isUndone(err) {
				c.writeEvent(ctx, cluster.Event{Ref: p.Ref,
					Warning: true, Reason: eventStatus, Message: string(finding.CallFailed) + ": " + err.Error()})
			}
			errs = append(errs, err)
		case cluster.Finalizer:
			errs = append(errs, c.setFinalizer(ctx, p))
		case cluster.StatusEdit:
			errs = append(errs, c.editStatus(ctx, p))
		case cluster.Annotation:
			if err := c.annotate(ctx, p); isUndone(err) {
				errs = append(errs, err)
			} else if err != nil {
				log.FromContext(ctx).Info("failed to write annotation", "object", p.Ref.String(), "annotation", p.Key, "err", err.Error())
			}
		case cluster.Event:
			c.writeEvent(ctx, p)
		case cluster.Lasting:
		default:
			errs = append(errs, fmt.Errorf("cannot write a %T", p))
		}
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}

// renew lets warnings be written again on objects of which a patch reports a success, but for those that the
// same patches report: these last, and their events are there.
func (c *eventWriter) renew(patches []cluster.Patch) {
	for _, p := range patches {
		if ev, ok := p.(cluster.Event); ok && !ev.Warning && !ev.Once {
			if obj, err := c.source.Get(ev.Ref); err == nil && obj != nil {
				c.events.forget(obj.GetUID(), reportedOn(ev.Ref, patches))
			}
		}
	}
}

// reportedOn returns the events about an object that patches write once while they last.
func reportedOn(ref cluster.Ref, patches []cluster.Patch) map[reported]bool {
	out := map[reported]bool{}
	for _, p := range patches {
		if ev, ok := p.(cluster.Event); ok && ev.Ref == ref && (ev.Warning || ev.Once) {
			ev.Message = eventMessage(ev.Message)
			out[keyOf(ev)] = true
		}
	}
	return out
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
