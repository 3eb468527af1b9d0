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

// Lookups reads objects that other objects reference, such as Services, from the API server if the informers do not have
// them. It also reads from the API server whether the referencing object has changed. Both reads are necessary because each
// kind has its own watch. The event of an Ingress may arrive before the event of a Service that was created earlier. The
// event of the deletion of a Service may arrive before the event of an earlier edit that removed the reference from the
// Ingress. Without a lookup, an existing rule would answer 503 until the other event arrives.
type Lookups struct {
	live    client.Reader
	clock   clock.PassiveClock
	timeout time.Duration // maximum duration of a call

	mu                sync.Mutex
	answers           map[cluster.Ref]lookupAnswer
	prunedAt          time.Time // when expired answers were last removed
	deletionCount     int       // number of deletions that informers have reported, of objects that may be looked up
	callLimiter       *rate.Limiter
	limitsByNamespace map[string]*namespaceLimits // by namespace
	failedCalls       map[string]failedCall       // by namespace
	// definitions are the CRDs that were read recently, by the kind that they define.
	definitions map[cluster.Kind]cachedDefinition
}

// lookupAnswer is the result of a lookup. object is nil if the object does not exist, if the permission to read it is
// missing, or if the limits admitted no call.
type lookupAnswer struct {
	object cluster.Object
	at     time.Time
}

// namespaceLimits are the rate limiters of one namespace. With them, a tenant who references many missing Services does not
// use up the calls of other namespaces.
type namespaceLimits struct {
	callLimiter *rate.Limiter
	// waitLimiter limits the total time, in milliseconds, for which runs wait for answers.
	waitLimiter *rate.Limiter
	// changeLimiter limits how often objects of the namespace are found to have changed. Each such change delays a run.
	changeLimiter *rate.Limiter
}

// failedCall is a call to the API server that failed. Before the time in the field until, other calls for the namespace
// return err without a request.
type failedCall struct {
	err   error
	until time.Time
}

const (
	// maxAnswers is the maximum number of cached answers. The limit is necessary because users choose the names.
	maxAnswers = 10_000
	// callsRate and callsBurst limit the calls per second for all namespaces together. If the limit is exceeded, only the
	// informer is read.
	callsRate, callsBurst = 50, 500
	// namespaceCallsRate and namespaceCallsBurst limit the calls per second for one namespace.
	namespaceCallsRate, namespaceCallsBurst = 1, 50
	// waitsRate and waitsBurst limit how many milliseconds per second runs wait for answers about one namespace.
	waitsRate, waitsBurst = 10_000.0 / 60, 10_000
	// changesRate and changesBurst limit how often per second objects of one namespace are found to have changed. If the
	// limit is exceeded, only the informer is read, so that a tenant who constantly edits an object does not block a shared
	// stack.
	changesRate, changesBurst = 1.0 / 6, 50
	// maxNamespaces is the maximum number of namespaces with limits. If the limits of another namespace are needed, the
	// limits of all namespaces are reset.
	maxNamespaces = 1000
)

// NewLookups returns Lookups that read with the client live. This client must read from the API server, not from a cache.
func NewLookups(live client.Reader, clock clock.PassiveClock) *Lookups {
	return &Lookups{
		live: live, clock: clock, timeout: 10 * time.Second, answers: map[cluster.Ref]lookupAnswer{},
		callLimiter: rate.NewLimiter(callsRate, callsBurst), limitsByNamespace: map[string]*namespaceLimits{}, failedCalls: map[string]failedCall{},
		definitions: map[cluster.Kind]cachedDefinition{},
	}
}

// mayLookUp reports whether objects of a kind are read from the API server if the informer does not have them. These are
// kinds that other objects reference. If the referenced object is missing, the other object loses rules.
func mayLookUp(kind cluster.Kind) bool {
	return kind == cluster.KindService || kind == cluster.KindIngress || kind == cluster.KindGateway || kind == cluster.KindListenerRuleConfiguration
}

// lookUp returns an object from the API server; nil if it does not exist, if the permission to read it is missing, or if the
// limits admit no call. Names that are not valid are never sent, because users choose them.
func (l *Lookups) lookUp(ctx context.Context, ref cluster.Ref) (cluster.Object, error) {
	validateName := validation.IsDNS1123Subdomain
	if ref.Kind == cluster.KindService {
		validateName = validation.IsDNS1123Label
	}
	typ, ok := cluster.TypeOf(ref.Kind)
	if !ok || len(validation.IsDNS1123Label(ref.Namespace)) > 0 || len(validateName(ref.Name)) > 0 {
		return nil, nil
	}
	object, deleted, mustCall, err := l.cachedAnswer(ref)
	if !mustCall {
		return object, err
	}
	found, err := l.readObject(ctx, ref, typ.New())
	if err != nil && !isAbsent(err) {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch now := l.clock.Now(); {
	case err != nil:
		l.storeAnswer(ref, lookupAnswer{at: now})
		return nil, nil
	case deleted == l.deletionCount: // if the count has changed, the object may have been deleted after the read
		l.storeAnswer(ref, lookupAnswer{found, now})
	}
	return found, nil
}

// confirmUnchanged returns cluster.StaleError if obj differs from the object in the API server, or does not exist there any
// more. It returns nil if the permission to read the object is missing, or if the limits admit no call.
func (l *Lookups) confirmUnchanged(ctx context.Context, obj cluster.Object) error {
	ref := cluster.RefOf(obj)
	typ, ok := cluster.TypeOf(ref.Kind)
	if mustCall, err := l.reserveConfirmation(ref); !ok || !mustCall {
		return err
	}
	found, err := l.readObject(ctx, ref, typ.New())
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case isAbsent(err), err == nil && !cluster.SameContent(obj, found):
		l.countChange(ref.Namespace)
		return cluster.StaleError{Ref: ref}
	}
	return err
}

// isAbsent reports whether an error means that an object does not exist, or that the permission to read it is missing.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

// readObject reads an object from the API server, stores it in the parameter into, and removes the fields that informers do
// not store. It also counts the time of the call in the limits of the namespace, and records a failed call.
func (l *Lookups) readObject(ctx context.Context, ref cluster.Ref, into cluster.Object) (cluster.Object, error) {
	start := l.clock.Now()
	call, stop := context.WithTimeout(ctx, l.timeout)
	defer stop()
	err := l.live.Get(call, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, into)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if err != nil && !isAbsent(err) && ctx.Err() == nil {
		l.failedCalls[ref.Namespace] = failedCall{err, now.Add(durations.ShortInterval)}
	} else if limits := l.limitsByNamespace[ref.Namespace]; limits != nil {
		limits.waitLimiter.ReserveN(now, int(min(now.Sub(start).Milliseconds(), waitsBurst)))
	}
	if err != nil {
		return nil, err
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // informers leave the kind empty
	return cluster.Reduce(into, ""), nil
}

// reserveConfirmation reports whether the limits admit a call that checks whether an object has changed, and counts the
// call. It returns an error if a call for the namespace failed recently.
func (l *Lookups) reserveConfirmation(ref cluster.Ref) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if limits := l.limitsByNamespace[ref.Namespace]; limits != nil && limits.changeLimiter.TokensAt(now) < 1 {
		return false, nil
	}
	return l.reserveCall(ref, now)
}

// countChange takes a token from changeLimiter of a namespace, because one of its objects has changed.
func (l *Lookups) countChange(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limits := l.limitsByNamespace[namespace]; limits != nil {
		limits.changeLimiter.AllowN(l.clock.Now(), 1)
	}
}

// cachedAnswer returns the answer of a recent lookup, or nil if the limits admit no call. If mustCall is true, there is no
// answer, and the caller must read the object from the API server. deleted is the number of deletions that informers have
// reported so far.
func (l *Lookups) cachedAnswer(ref cluster.Ref) (object cluster.Object, deleted int, mustCall bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if a, ok := l.answers[ref]; ok && now.Sub(a.at) < durations.BriefWait {
		return a.object, l.deletionCount, false, nil
	}
	mustCall, err = l.reserveCall(ref, now)
	if !mustCall && err == nil {
		l.storeAnswer(ref, lookupAnswer{at: now}) // stored, so that all reads of a run get the same answer
	}
	return nil, l.deletionCount, mustCall, err
}

// reserveCall reports whether the limits admit one more call for the namespace of ref, and counts the call. It returns an
// error if a call for the namespace failed recently.
func (l *Lookups) reserveCall(ref cluster.Ref, now time.Time) (bool, error) {
	if f, ok := l.failedCalls[ref.Namespace]; ok {
		if now.Before(f.until) {
			return false, fmt.Errorf("read %s: the API server did not answer an earlier call: %w", ref, f.err)
		}
		delete(l.failedCalls, ref.Namespace)
	}
	limits := l.limitsByNamespace[ref.Namespace]
	if limits == nil {
		if len(l.limitsByNamespace) >= maxNamespaces {
			clear(l.limitsByNamespace)
			clear(l.failedCalls)
		}
		limits = &namespaceLimits{
			callLimiter:   rate.NewLimiter(namespaceCallsRate, namespaceCallsBurst),
			waitLimiter:   rate.NewLimiter(waitsRate, waitsBurst),
			changeLimiter: rate.NewLimiter(changesRate, changesBurst),
		}
		l.limitsByNamespace[ref.Namespace] = limits
	}
	if limits.callLimiter.TokensAt(now) < 1 || limits.waitLimiter.TokensAt(now) < 1 || !l.callLimiter.AllowN(now, 1) {
		return false, nil
	}
	return limits.callLimiter.AllowN(now, 1), nil
}

// storeAnswer caches an answer, unless the cache has maxAnswers, and removes expired answers.
func (l *Lookups) storeAnswer(ref cluster.Ref, a lookupAnswer) {
	if a.at.Sub(l.prunedAt) >= durations.BriefWait {
		maps.DeleteFunc(l.answers, func(_ cluster.Ref, old lookupAnswer) bool { return a.at.Sub(old.at) >= durations.BriefWait })
		l.prunedAt = a.at
	}
	if len(l.answers) < maxAnswers {
		l.answers[ref] = a
	}
}

// recordDeleted records that an informer has reported the deletion of an object that may be looked up, and removes the cached
// answer about it.
func (l *Lookups) recordDeleted(o cluster.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deletionCount++
	delete(l.answers, cluster.RefOf(o))
}
