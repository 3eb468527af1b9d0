package kube

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Lookups ask the API server about a Service, an Ingress or a Gateway that the informer does not hold, and whether the
// object that names it is stored as it was read. Each kind has a watch of its own, so that an Ingress may arrive before the
// Service that it names and that was made first, and the end of a Service before the edit of the Ingress that named it. A
// live rule would answer 503 until the other arrives.
type Lookups struct {
	live    client.Reader
	clock   clock.PassiveClock
	timeout time.Duration // of a call

	mu       sync.Mutex
	answers  map[cluster.Ref]lookedUp
	swept    time.Time // when those that do not count any more were forgotten
	deleted  int       // how many such objects the informers have seen go
	calls    *rate.Limiter
	shares   map[string]*share // by namespace
	failures map[string]failed // by namespace
	defined  map[cluster.Kind]definitionAnswer
}

// lookedUp is an answer of the API server; without an object there is none, or it was not asked.
type lookedUp struct {
	object cluster.Object
	at     time.Time
}

// share is what one namespace may use, so that a tenant who names many Services that do not exist takes no calls from
// others.
type share struct {
	calls *rate.Limiter
	// waits are the milliseconds for which runs wait for answers.
	waits *rate.Limiter
	// stales are the answers that an object has changed, for each of which a run waits.
	stales *rate.Limiter
}

// failed is a call that was not answered, and until when it stands for others.
type failed struct {
	err   error
	until time.Time
}

const (
	// maxAnswers bounds the names that are remembered: they are what users choose.
	maxAnswers = 10_000
	// callsRate is the calls a second of all namespaces, callsBurst those at once. Beyond them, what the informer holds
	// counts.
	callsRate, callsBurst = 50, 500
	// shareRate and shareBurst are those of one namespace.
	shareRate, shareBurst = 1, 50
	// waitsBurst is the time in milliseconds for which runs may wait for answers about one namespace, and waitsRate what
	// comes back each second: a sixth of the time.
	waitsRate, waitsBurst = 10_000.0 / 60, 10_000
	// stalesRate and stalesBurst are how often the objects of one namespace may be found changed. Beyond them, what the
	// informer holds counts, so that a tenant who edits an object all the time does not hold up a stack that others share.
	stalesRate, stalesBurst = 1.0 / 6, 50
	// maxShares bounds the namespaces that are remembered. One more resets all shares.
	maxShares = 1000
)

// NewLookups returns lookups through a client that reads from the API server. clock is theirs.
func NewLookups(live client.Reader, clock clock.PassiveClock) *Lookups {
	return &Lookups{
		live: live, clock: clock, timeout: 10 * time.Second, answers: map[cluster.Ref]lookedUp{},
		calls: rate.NewLimiter(callsRate, callsBurst), shares: map[string]*share{}, failures: map[string]failed{},
		defined: map[cluster.Kind]definitionAnswer{},
	}
}

// mayLookUp reports whether objects of a kind are asked for that the informer does not hold: others name them, and what
// they lead to would go.
func mayLookUp(kind cluster.Kind) bool {
	return kind == cluster.KindService || kind == cluster.KindIngress || kind == cluster.KindGateway
}

// object returns an object; nil if there is none, or none that may be read. A name that is not valid is never sent: users
// choose it.
func (l *Lookups) object(ctx context.Context, ref cluster.Ref) (cluster.Object, error) {
	named := validation.IsDNS1123Subdomain
	if ref.Kind == cluster.KindService {
		named = validation.IsDNS1123Label
	}
	typ, ok := cluster.TypeOf(ref.Kind)
	if !ok || len(validation.IsDNS1123Label(ref.Namespace)) > 0 || len(named(ref.Name)) > 0 {
		return nil, nil
	}
	object, deleted, ask, err := l.cachedAnswer(ref)
	if !ask {
		return object, err
	}
	found, err := l.read(ctx, ref, typ.New())
	if err != nil && !isAbsent(err) {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch now := l.clock.Now(); {
	case err != nil:
		l.storeAnswer(ref, lookedUp{at: now})
		return nil, nil
	case deleted == l.deleted: // else it may be the one that has gone
		l.storeAnswer(ref, lookedUp{found, now})
	}
	return found, nil
}

// confirm returns an error unless an object is stored as it is here. What may not be read or is beyond the limits counts
// as it is here.
func (l *Lookups) confirm(ctx context.Context, obj cluster.Object) error {
	ref := cluster.RefOf(obj)
	typ, ok := cluster.TypeOf(ref.Kind)
	if ask, err := l.needsLookup(ref); !ok || !ask {
		return err
	}
	found, err := l.read(ctx, ref, typ.New())
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case isAbsent(err), err == nil && !cluster.SameContent(obj, found):
		l.countChange(ref.Namespace)
		return cluster.Stale{Ref: ref}
	}
	return err
}

// isAbsent reports whether an error reports that there is no such object, or none that may be read.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

// read reads an object, as an informer holds it.
func (l *Lookups) read(ctx context.Context, ref cluster.Ref, into cluster.Object) (cluster.Object, error) {
	start := l.clock.Now()
	call, stop := context.WithTimeout(ctx, l.timeout)
	defer stop()
	err := l.live.Get(call, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, into)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if err != nil && !isAbsent(err) && ctx.Err() == nil {
		l.failures[ref.Namespace] = failed{err, now.Add(durations.Interval)}
	} else if own := l.shares[ref.Namespace]; own != nil {
		own.waits.ReserveN(now, int(min(now.Sub(start).Milliseconds(), waitsBurst)))
	}
	if err != nil {
		return nil, err
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // which informers leave out
	return cluster.Reduce(into, ""), nil
}

// needsLookup reports whether the API server may be asked now whether an object has changed.
func (l *Lookups) needsLookup(ref cluster.Ref) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if own := l.shares[ref.Namespace]; own != nil && own.stales.TokensAt(now) < 1 {
		return false, nil
	}
	return l.mayAsk(ref, now)
}

// countChange counts an object of a namespace that has changed.
func (l *Lookups) countChange(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.shares[namespace]; own != nil {
		own.stales.AllowN(l.clock.Now(), 1)
	}
}

// cachedAnswer returns an answer that still counts, or what counts where no call is left, and otherwise reports that
// the API server is to be asked. deleted is how many objects have gone so far.
func (l *Lookups) cachedAnswer(ref cluster.Ref) (object cluster.Object, deleted int, ask bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if a, ok := l.answers[ref]; ok && now.Sub(a.at) < durations.Glance {
		return a.object, l.deleted, false, nil
	}
	ask, err = l.mayAsk(ref, now)
	if !ask && err == nil {
		l.storeAnswer(ref, lookedUp{at: now}) // the same for all paths of a run
	}
	return nil, l.deleted, ask, err
}

// mayAsk reports whether the limits admit one more call, which it counts. The error is that of a call that was not answered
// a moment ago.
func (l *Lookups) mayAsk(ref cluster.Ref, now time.Time) (bool, error) {
	if f, ok := l.failures[ref.Namespace]; ok {
		if now.Before(f.until) {
			return false, fmt.Errorf("read %s: the API server did not answer a moment ago: %w", ref, f.err)
		}
		delete(l.failures, ref.Namespace)
	}
	own := l.shares[ref.Namespace]
	if own == nil {
		if len(l.shares) >= maxShares {
			clear(l.shares)
			clear(l.failures)
		}
		own = &share{
			calls:  rate.NewLimiter(shareRate, shareBurst),
			waits:  rate.NewLimiter(waitsRate, waitsBurst),
			stales: rate.NewLimiter(stalesRate, stalesBurst),
		}
		l.shares[ref.Namespace] = own
	}
	if own.calls.TokensAt(now) < 1 || own.waits.TokensAt(now) < 1 || !l.calls.AllowN(now, 1) {
		return false, nil
	}
	return own.calls.AllowN(now, 1), nil
}

// storeAnswer remembers an answer.
func (l *Lookups) storeAnswer(ref cluster.Ref, a lookedUp) {
	if a.at.Sub(l.swept) >= durations.Glance {
		maps.DeleteFunc(l.answers, func(_ cluster.Ref, old lookedUp) bool { return a.at.Sub(old.at) >= durations.Glance })
		l.swept = a.at
	}
	if len(l.answers) < maxAnswers {
		l.answers[ref] = a
	}
}

// noteGone notes that an informer has seen such an object go.
func (l *Lookups) noteGone(o cluster.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted++
	delete(l.answers, cluster.RefOf(o))
}
