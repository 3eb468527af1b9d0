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

// Cluster reads objects from a cluster.Source, and writes objects with an API. It implements engine.Cluster and
// bindings.Cluster.
type Cluster struct {
	*fieldWriter
	bindings bindingWriter

	// Members records to which stacks root objects belong, and which stacks they have left. Members.RecordChange must be
	// called for each event of an object.
	Members *cluster.Memberships
	// Store persists Members for the next process; nil: Members is not persisted.
	Store MembershipStore
}

// MembershipStore persists memberships of root objects in stacks.
type MembershipStore interface {
	// Persist stores the memberships that have changed. It is called after the finalizer of a stack was added to a root
	// object, and before AWS resources are created for that stack.
	Persist(ctx context.Context)
}

var _ engine.Cluster = (*Cluster)(nil)

// New returns a Cluster that reads from source and writes with api. clock is used for the times in events and conditions.
func New(source cluster.Source, api API, clock clock.PassiveClock) *Cluster {
	w := &fieldWriter{eventWriter: &eventWriter{source: source, api: api, clock: clock}}
	return &Cluster{fieldWriter: w, bindings: bindingWriter{w}, Members: cluster.NewMemberships()}
}

// View implements engine.Cluster.
func (c *Cluster) View() *cluster.View { return cluster.NewView(c.source).WithMemberships(c.Members) }

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

// Apply implements engine.Cluster. A step may be repeated. If the step was already carried out, Apply writes nothing and
// returns no error.
func (c *Cluster) Apply(ctx context.Context, _ model.StackID, s plan.Step, known plan.KnownIDs) (plan.StepResult, error) {
	switch action := s.Do.(type) {
	case plan.ClaimFinalizer:
		return plan.StepResult{}, c.claimFinalizer(ctx, action)
	case plan.ReleaseFinalizer:
		return plan.StepResult{}, c.releaseFinalizer(ctx, action)
	case plan.PutBinding:
		return c.bindings.putBinding(ctx, action, known)
	case plan.DeleteBinding:
		b := &elbv2.TargetGroupBinding{}
		b.Namespace, b.Name = action.Namespace, action.Name
		return plan.StepResult{}, ignoreNotFound(c.api.Delete(ctx, b))
	case plan.RecordAccelerator:
		return plan.StepResult{}, c.recordAccelerator(ctx, action, known)
	}
	return plan.StepResult{}, fmt.Errorf("step %s does not change Kubernetes", s.ID)
}

// failedStatusReason is the reason of events about a status that cannot be written.
const failedStatusReason = "FailedUpdateStatus"

// Write implements engine.Cluster. An error of an annotation or event is logged and not returned, because it must not stop
// the reconciliation of a load balancer.
func (c *Cluster) Write(ctx context.Context, patches []cluster.Patch) error {
	var errs []error
	c.forgetEndedWarnings(patches)
	defer c.recordLastingWarnings(patches)
	for _, p := range patches {
		switch p := p.(type) {
		case cluster.ObjectStatus:
			errs = append(errs, c.reportFailedStatus(ctx, p.Ref, c.writeStatus(ctx, p)))
		case cluster.Finalizer:
			errs = append(errs, c.setFinalizer(ctx, p))
		case cluster.StatusEdit:
			errs = append(errs, c.reportFailedStatus(ctx, p.Ref, c.editStatus(ctx, p, subjectOf(patches))))
		case cluster.Annotation:
			if err := c.annotate(ctx, p); isUndoneError(err) {
				errs = append(errs, err)
			} else if err != nil {
				log.FromContext(ctx).Info("failed to write annotation", "object", p.Ref.String(), "annotation", p.Key, "err", err.Error())
			}
		case cluster.Event:
			c.writeEvent(ctx, p)
		case cluster.LastingWarnings:
		default:
			errs = append(errs, fmt.Errorf("cannot write a %T", p))
		}
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}

// reportFailedStatus writes an event about err, the result of writing the status of an object, and returns err. It writes no
// event if the write is only postponed.
func (c *eventWriter) reportFailedStatus(ctx context.Context, ref cluster.Ref, err error) error {
	if err != nil && ctx.Err() == nil && !isUndoneError(err) && !apierrors.IsConflict(err) {
		c.writeEvent(ctx, cluster.Event{Ref: ref, Warning: true, Reason: failedStatusReason, Message: string(finding.CallFailed) + ": " + err.Error()})
	}
	return err
}

// forgetEndedWarnings removes the records of warnings about objects for which a patch reports success, so that such a
// warning is written again if it occurs again. Records of warnings that the same patches report are retained, because these
// warnings have not ended.
func (c *eventWriter) forgetEndedWarnings(patches []cluster.Patch) {
	for _, p := range patches {
		if ev, ok := p.(cluster.Event); ok && !ev.Warning && !ev.Once {
			if obj, err := c.source.Get(ev.Ref); err == nil && obj != nil {
				c.events.forgetWarnings(obj.GetUID(), lastingKeys(ev.Ref, patches))
			}
		}
	}
}

// lastingKeys returns the keys of the events in patches about object ref that are written only once while their cause
// exists.
func lastingKeys(ref cluster.Ref, patches []cluster.Patch) map[eventKey]bool {
	out := map[eventKey]bool{}
	for _, p := range patches {
		if ev, ok := p.(cluster.Event); ok && ev.Ref == ref && (ev.Warning || ev.Once) {
			ev.Message = eventMessage(ev.Message)
			out[eventKeyOf(ev)] = true
		}
	}
	return out
}

// ignoreNotFound returns nil if err means that an object does not exist, and otherwise err.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
