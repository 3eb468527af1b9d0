package bindings

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// dueIn is how long an unchanged binding may still be left alone; zero or less: it is to be
// compared with AWS now.
func (r *Reconciler) dueIn(key Key) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.due[key]
	if !ok {
		at = r.Now().Add(min(r.FirstLook+spread(key, r.FirstLook/2), r.resyncAfter(key)))
		r.due[key] = at
	}
	return at.Sub(r.Now())
}

// compared notes that a binding was compared with AWS and is complete.
func (r *Reconciler) compared(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due[key] = r.Now().Add(r.resyncAfter(key))
}

func (r *Reconciler) resyncAfter(key Key) time.Duration {
	return engine.ResyncAfter(r.Resync, key.String())
}

// lastDone is the last checkpoint that this process has set for a binding; false if it has set none.
func (r *Reconciler) lastDone(key Key) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done, ok := r.done[key]
	return done, ok
}

func (r *Reconciler) noteDone(key Key, checkpoint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[key] = checkpoint
}

// lastKnown is a binding that is not there any more as it was last seen, nil if it is not known.
func (r *Reconciler) lastKnown(key Key) *elbv2.TargetGroupBinding {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.left[key]; b != nil {
		return b
	}
	if f := r.fillings[key]; f != nil {
		return f.binding
	}
	return nil
}

// absent notes that a backend is not there, and says since how long.
func (r *Reconciler) absent(key Key) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, ok := r.missing[key]
	if !ok {
		since = r.Now()
		r.missing[key] = since
	}
	return r.Now().Sub(since)
}

// seen notes that the backend is there.
func (r *Reconciler) seen(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.missing, key)
	delete(r.letGo, key)
}

// noteServing remembers whether old targets of a binding serve on, which need their rules although
// they are not endpoints any more.
func (r *Reconciler) noteServing(key Key, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on {
		r.serving[key] = true
		return
	}
	delete(r.serving, key)
}

// anyServing says whether old targets of any binding serve on.
func (r *Reconciler) anyServing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.serving) > 0
}

// knows says whether this process has seen the binding.
func (r *Reconciler) knows(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.due[key]
	return ok
}

// noteLetGo remembers that a binding has taken back what it put in. Two that go at the same time each
// see the other's rules as wanted, so these are looked at once more when it is gone.
func (r *Reconciler) noteLetGo(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.letGo[key] = true
	delete(r.missing, key)
}

// mayReword reports whether another text for the same fault may be written now. Each write brings another
// run about, so that two texts which take turns would go on for ever.
func (r *Reconciler) mayReword(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if last, ok := r.worded[key]; ok && now.Sub(last) < patience {
		return false
	}
	if r.worded == nil {
		r.worded = map[Key]time.Time{}
	}
	r.worded[key] = now
	return true
}

// hasLetGo says so.
func (r *Reconciler) hasLetGo(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.letGo[key]
}

func (r *Reconciler) forget(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.worded, key)
	delete(r.due, key)
	delete(r.missing, key)
	delete(r.opened, key)
	r.epoch++
	delete(r.serving, key)
	delete(r.zoned, key)
	delete(r.left, key)
	delete(r.letGo, key)
	delete(r.fillings, key)
	delete(r.crowds, key)
	delete(r.done, key)
	delete(r.refused, key)
}

// spread is a part of the span that depends on the key alone, so that bindings do not come at once.
func spread(key Key, span time.Duration) time.Duration {
	h := fnv.New32a()
	fmt.Fprint(h, key.String())
	return time.Duration(float64(span) * float64(h.Sum32()) / float64(1<<32))
}

func (r *Reconciler) viewed(key Key, v *cluster.View) {
	if r.Viewed != nil {
		r.Viewed(key, v)
	}
}

func (r *Reconciler) fence() error {
	if r.Fence == nil {
		return nil
	}
	if err := r.Fence(); err != nil {
		return fmt.Errorf("another process may have taken over, nothing more is written: %w", err)
	}
	return nil
}

// change carries one write to Kubernetes out, unless this process must not write any more.
func (r *Reconciler) change(ctx context.Context, w Write) error {
	if err := r.fence(); err != nil {
		return err
	}
	return r.Cluster.Change(ctx, w)
}

func (r *Reconciler) write(ctx context.Context, patches []cluster.Patch) error {
	if len(patches) == 0 {
		return nil
	}
	if err := r.fence(); err != nil {
		return err
	}
	return r.Cluster.Write(ctx, patches)
}

func (r *Reconciler) phase(name string, start time.Time) {
	if r.Phase != nil {
		r.Phase(name, r.Now().Sub(start))
	}
}
