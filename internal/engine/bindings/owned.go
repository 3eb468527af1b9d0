package bindings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// A target group that several clusters fill has targets that are none of ours. Each cluster keeps a
// record of those that it is responsible for: all that it registered and has not taken out yet. It
// is written before targets are registered, so that one whose registration was answered to nobody
// is still known as ours, and again after others were taken out.

// owned is the record of a binding. A nil one means that the whole target group is ours.
type owned struct {
	recorded bool
	is       map[string]bool // by identity, in canonical form
}

// loadOwned finds out what may be taken out. The record is read past every cache.
func (p *pass) loadOwned(ctx context.Context, leaving bool) error {
	p.owned, p.others = nil, nil
	shared := p.b.Spec.MultiClusterTargetGroup
	if shared || leaving {
		var err error
		if p.others, err = p.r.wantedByOthers(ctx, p.b, leaving); err != nil {
			return err
		}
	}
	if !shared {
		return nil
	}
	list, recorded, err := p.r.Cluster.OwnedTargets(ctx, p.key)
	if err != nil {
		return fmt.Errorf("read the record of own targets: %w", err)
	}
	p.owned = &owned{recorded: recorded, is: map[string]bool{}}
	for _, id := range list {
		p.owned.is[targets.CanonicalIdentity(id)] = true
	}
	return nil
}

// wantedByOthers are the identities, in canonical form, of the endpoints of the other bindings of
// this cluster that fill the same group: those that share it, or whoever comes after one that is
// leaving. It is read in a view of its own: when they change, the bindings that want them have runs
// of their own.
func (r *Reconciler) wantedByOthers(ctx context.Context, b *elbv2.TargetGroupBinding, leaving bool) (map[string]bool, error) {
	v := r.Cluster.View()
	out := map[string]bool{}
	for _, o := range withTargetGroup(v, b) {
		if o.Namespace == b.Namespace && o.Name == b.Name || o.DeletionTimestamp != nil || !sameGroup(o, b) ||
			!o.Spec.MultiClusterTargetGroup && !leaving {
			continue
		}
		w, err := r.described(ctx, o)
		if err != nil {
			continue // it cannot register anything either
		}
		for _, e := range targets.Resolve(v, w, r.Targets).Endpoints {
			out[targets.CanonicalIdentity(e.Identity())] = true
		}
	}
	return out, v.Err()
}

// mine leaves those targets that may be taken out: not what another binding wants, which would not
// be told. In a shared group without a record these are the targets that this process has registered:
// it is not known who registered the others.
func (p *pass) mine(list []observed.Target) []observed.Target {
	var known map[string]bool
	if p.owned != nil {
		known = p.r.registeredFor(p.key)
	}
	return slices.DeleteFunc(slices.Clone(list), func(t observed.Target) bool {
		id := targets.CanonicalIdentity(targets.IdentityOf(t))
		return p.others[id] || p.owned != nil && !p.owned.is[id] && !known[id]
	})
}

// claim records the endpoints besides what is recorded.
func (p *pass) claim(ctx context.Context) error {
	if p.owned == nil {
		return nil
	}
	want := maps.Clone(p.owned.is)
	maps.Copy(want, p.wanted())
	return p.record(ctx, want)
}

// settle records the endpoints, and old targets that serve on, and nothing else.
func (p *pass) settle(ctx context.Context) error {
	if p.owned == nil {
		return nil
	}
	want := p.wanted()
	for _, t := range p.retained {
		want[targets.CanonicalIdentity(targets.IdentityOf(t))] = true
	}
	return p.record(ctx, want)
}

func (p *pass) wanted() map[string]bool {
	out := map[string]bool{}
	for _, e := range p.found.Endpoints {
		out[targets.CanonicalIdentity(e.Identity())] = true
	}
	return out
}

func (p *pass) record(ctx context.Context, want map[string]bool) error {
	if p.owned.recorded && maps.Equal(p.owned.is, want) {
		return nil
	}
	if err := p.r.change(ctx, SetOwnedTargets{p.key, slices.Sorted(maps.Keys(want))}); err != nil {
		return fmt.Errorf("record own targets: %w", err)
	}
	p.owned.recorded, p.owned.is = true, want
	return nil
}

// JoinIdentities is the form in which a record is kept.
func JoinIdentities(list []string) string { return strings.Join(list, ",") }

// SplitIdentities reads a record. The order is anybody's.
func SplitIdentities(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(id string) bool { return id == "" })
}
