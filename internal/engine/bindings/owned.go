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

// readTargetRecord determines which targets the binding may deregister. It reads the record of the targets that this cluster
// registered from the API server, and finds the targets that other bindings need. leaving reports whether the binding is
// being deleted.
func (p reader) readTargetRecord(ctx context.Context, f *bindingplan.Facts, leaving bool) *bindingplan.TargetRecord {
	out := &bindingplan.TargetRecord{Shared: f.StoredBinding.Spec.MultiClusterTargetGroup, Deregistered: map[string]bool{}}
	if out.Shared || leaving {
		var err error
		if out.NeededByOthers, err = p.r.targetsOfOtherBindings(ctx, f.StoredBinding, leaving); err != nil {
			out.Failure = p.r.failureOf(err)
			return out
		}
	}
	if !out.Shared {
		return out
	}
	list, recorded, err := p.r.Cluster.OwnedTargets(ctx, p.key)
	if err != nil {
		out.Failure = p.r.failureOf(fmt.Errorf("read the record of registered targets: %w", err))
		return out
	}
	out.HasRecord, out.Identities = recorded, map[string]bool{}
	for _, id := range list {
		out.Identities[targets.CanonicalIdentity(id)] = true
	}
	return out
}

// targetsOfOtherBindings returns the identities, in canonical form, of the endpoints of other bindings of this cluster with
// the same target group. If leaving is false, it uses only bindings that share the target group with other clusters. If
// leaving is true, binding b is being deleted. All other bindings of the target group are then used, because they take over
// its targets. The view does not subscribe to the other bindings, because each of them runs when it changes.
func (r *Reconciler) targetsOfOtherBindings(ctx context.Context, b *elbv2.TargetGroupBinding, leaving bool) (map[string]bool, error) {
	v := r.Cluster.View().CacheOnly()
	out := map[string]bool{}
	owners, err := r.Cloud.TargetGroupsOf(Account{}).OwnerNamespaces(ctx, b.Spec.TargetGroupARN, false) // none if the tags are not cached
	if err != nil {
		return nil, err
	}
	for _, o := range bindingsOfTargetGroup(v, b) {
		if o.Namespace == b.Namespace && o.Name == b.Name || o.DeletionTimestamp != nil || !bindingplan.SameTargetGroup(o, b) ||
			!o.Spec.MultiClusterTargetGroup && !leaving || !bindingplan.MayRegister(o, owners) {
			continue
		}
		w, err := r.completedBinding(ctx, o)
		if err != nil {
			continue // without an ARN and a target type, the other binding cannot register targets
		}
		key, found := Key{Namespace: o.Namespace, Name: o.Name}, targets.Resolve(v, w, r.Targets)
		if found.BackendMissing && leaving && !r.memory.get(key).isServiceAbsent(r.Clock.Now()) && r.memory.recordServiceWait(Key{Namespace: b.Namespace, Name: b.Name}) {
			return nil, serviceNotFoundYetError{key} // the other binding may still take over the targets
		}
		for _, e := range found.Endpoints() {
			out[targets.CanonicalIdentity(e.Identity())] = true
		}
	}
	return out, v.Err()
}

// serviceNotFoundYetError is the error of a run that cannot determine yet whether the Service of a binding exists.
type serviceNotFoundYetError struct{ binding Key }

// Error implements error.
func (e serviceNotFoundYetError) Error() string {
	return fmt.Sprintf("the Service of TargetGroupBinding %s was not found yet", e.binding)
}

// RetryAfter returns the time until the Service is looked up again.
func (serviceNotFoundYetError) RetryAfter() time.Duration { return durations.ShortestInterval }

// JoinIdentities returns the text of a record of targets: their identities, separated by commas.
func JoinIdentities(list []string) string { return strings.Join(list, ",") }

// SplitIdentities returns the identities in the text of a record of targets (JoinIdentities), in the order of the text.
func SplitIdentities(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(id string) bool { return id == "" })
}
