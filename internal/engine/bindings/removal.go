package bindings

import (
	"context"
	"errors"
	"maps"
	"slices"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// A target whose pod is gone must leave, whatever else goes wrong: its address is given to another
// pod about half a minute later, perhaps of another tenant. A run that cannot tell the endpoints, is
// refused a write to Kubernetes, or lets a binding go that will be made again, still takes out what
// is gone. What the binding's owner writes cannot keep it in.

// filling is what this process has registered for a binding. It is needed where the record in
// Kubernetes is missing, changed by its owner, or was never kept.
type filling struct {
	binding    *elbv2.TargetGroupBinding // as last described
	identities map[string]bool           // in canonical form
}

// filledBy returns a binding as it was when targets were last registered for it, nil if none were.
func (r *Reconciler) filledBy(key Key) *elbv2.TargetGroupBinding {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.fillings[key]; f != nil {
		return f.binding
	}
	return nil
}

// registeredFor are the identities, in canonical form, of the targets that this process knows to be
// registered for a binding; nil if it has not looked.
func (r *Reconciler) registeredFor(key Key) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.fillings[key]; f != nil {
		return maps.Clone(f.identities)
	}
	return nil
}

// noteFilled remembers targets that are registered for a binding, or no longer.
func (p *pass) noteFilled(registered bool, identities ...string) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	f := p.r.fillings[p.key]
	if f == nil || f.binding.Spec.TargetGroupARN != p.w.Spec.TargetGroupARN {
		if !registered {
			return
		}
		f = &filling{identities: map[string]bool{}}
		p.r.fillings[p.key] = f
	}
	if registered {
		f.binding = p.w
	}
	for _, id := range identities {
		if id = targets.CanonicalIdentity(id); registered {
			f.identities[id] = true
		} else {
			delete(f.identities, id)
		}
	}
}

// removeGone takes out the targets whose pod or node is gone, after a run that has not brought the
// target group to its endpoints. An error of that run is returned with its own.
func (p *pass) removeGone(ctx context.Context, run error) error {
	if old := p.r.filledBy(p.key); old != nil && p.w != nil && p.w.Spec.TargetGroupARN == "" {
		p.w = old // a group given by name that cannot be looked up now
	}
	if p.complete || p.unread || p.v.Err() != nil || p.w == nil || p.w.Spec.TargetGroupARN == "" || p.r.fence() != nil {
		return run
	}
	drop, err := p.goneTargets(ctx)
	if err == nil && len(drop) > 0 {
		err = p.deregister(ctx, p.w.Spec.TargetGroupARN, drop)
	}
	switch {
	case err == nil || p.past(err) || p.putOff(err):
		return run
	case run == nil:
		return p.failed(ctx, err)
	}
	return errors.Join(run, err)
}

// goneTargets are the registered targets of the binding that nothing stands for any more.
func (p *pass) goneTargets(ctx context.Context) ([]observed.Target, error) {
	known := p.r.registeredFor(p.key)
	rival, err := p.rival(ctx)
	// In a group that is another's, or that this binding cannot fill, it is not known who registered
	// the rest.
	limited := rival.lost() || p.w.Spec.TargetType != nil && impossible(p.w) != nil
	if err != nil || limited && known == nil {
		return nil, err
	}
	if err := p.loadOwned(ctx, p.leaving()); err != nil {
		return nil, err
	}
	health, err := p.groups().TargetHealth(ctx, p.w.Spec.TargetGroupARN, healthAge)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(p.mine(health.Targets), targets.Draining)
	if limited {
		list = slices.DeleteFunc(list, func(t observed.Target) bool {
			return !known[targets.CanonicalIdentity(targets.IdentityOf(t))]
		})
	}
	// The questions are told before the answers count, so that no change is missed in between.
	targets.Gone(p.v, p.key.Namespace, list)
	p.r.viewed(p.key, p.v)
	v := p.r.Cluster.View()
	drop := targets.Gone(v, p.key.Namespace, list)
	return drop, errors.Join(p.v.Err(), v.Err())
}

// leaving reports whether the binding goes or is gone.
func (p *pass) leaving() bool { return p.absent || p.b.DeletionTimestamp != nil }

// leaveOldGroup empties the target group that the binding has filled before its spec named another.
func (p *pass) leaveOldGroup(ctx context.Context) error {
	old := p.r.filledBy(p.key)
	if old == nil || sameGroup(old, p.b) && accountOf(old) == accountOf(p.b) {
		return nil
	}
	was := &pass{r: p.r, key: p.key, v: p.v, b: old, w: old, out: p.out, absent: true}
	err := was.emptyGroup(ctx, old.Spec.TargetGroupARN)
	if err != nil && p.putOff(err) {
		return nil
	}
	if err == nil || p.past(err) {
		p.r.mu.Lock()
		delete(p.r.fillings, p.key)
		p.r.mu.Unlock()
		return nil
	}
	return p.failed(ctx, err)
}
