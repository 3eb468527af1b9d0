package bindings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// readRecord finds out what may be taken out. The record is read past every cache.
func (p reader) readRecord(ctx context.Context, f *bindingplan.Facts, leaving bool) *bindingplan.Record {
	out := &bindingplan.Record{Leaving: leaving, Shared: f.Stored.Spec.MultiClusterTargetGroup}
	if out.Shared || leaving {
		var err error
		if out.Others, err = p.r.wantedByOthers(ctx, f.Stored, leaving); err != nil {
			out.Failure = p.r.failure(err)
			return out
		}
	}
	if !out.Shared {
		return out
	}
	list, recorded, err := p.r.Cluster.OwnedTargets(ctx, p.key)
	if err != nil {
		out.Failure = p.r.failure(fmt.Errorf("read the record of own targets: %w", err))
		return out
	}
	out.Recorded, out.Identities = recorded, map[string]bool{}
	for _, id := range list {
		out.Identities[targets.CanonicalIdentity(id)] = true
	}
	return out
}

// wantedByOthers returns the identities, in canonical form, of the endpoints of the other bindings of
// this cluster that fill the same group: those that share it, or whoever comes after one that is
// leaving. It is read in a view of its own: when they change, the bindings that want them have runs
// of their own.
func (r *Reconciler) wantedByOthers(ctx context.Context, b *elbv2.TargetGroupBinding, leaving bool) (map[string]bool, error) {
	v := r.Cluster.View().Informed()
	out := map[string]bool{}
	owners, err := r.Cloud.As(Account{}).MadeFor(ctx, b.Spec.TargetGroupARN, false) // as far as it is known without a call
	if err != nil {
		return nil, err
	}
	for _, o := range withTargetGroup(v, b) {
		if o.Namespace == b.Namespace && o.Name == b.Name || o.DeletionTimestamp != nil || !bindingplan.SameTargetGroup(o, b) ||
			!o.Spec.MultiClusterTargetGroup && !leaving || !bindingplan.MayRegister(o, owners) {
			continue
		}
		w, err := r.described(ctx, o)
		if err != nil {
			continue // it cannot register anything either
		}
		key, found := Key{Namespace: o.Namespace, Name: o.Name}, targets.Resolve(v, w, r.Targets)
		if found.NotFound && leaving && !r.memory.get(key).serviceAbsent(r.Clock.Now()) && r.memory.mayWait(Key{Namespace: b.Namespace, Name: b.Name}) {
			return nil, notArrived{key} // it may take the targets over
		}
		for _, e := range found.Endpoints() {
			out[targets.CanonicalIdentity(e.Identity())] = true
		}
	}
	return out, v.Err()
}

// notArrived reports that it is not known yet whether the Service of a binding exists.
type notArrived struct{ of Key }

// Error implements error.
func (e notArrived) Error() string {
	return fmt.Sprintf("the Service of TargetGroupBinding %s has not arrived", e.of)
}

// RetryAfter returns when to look again.
func (notArrived) RetryAfter() time.Duration { return durations.Moment }

// JoinIdentities returns the form in which a record is kept.
func JoinIdentities(list []string) string { return strings.Join(list, ",") }

// SplitIdentities reads a record. The order is anybody's.
func SplitIdentities(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(id string) bool { return id == "" })
}
