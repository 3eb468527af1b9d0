package kube

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Services asks the API server for Services that the informer does not hold. Each kind has a watch of its own, so that an
// Ingress may arrive before the Service that it names and that was made first. A live rule would answer 503 until the
// Service arrives.
type Services struct {
	client  corev1client.ServicesGetter
	now     func() time.Time
	timeout time.Duration // of a call

	mu       sync.Mutex
	answers  map[cluster.Ref]serviceAnswer
	swept    time.Time // when those that do not count any more were forgotten
	deleted  int       // how many Services the informer has seen go
	calls    *rate.Limiter
	shares   map[string]*share // by namespace
	failures map[string]failed // by namespace
}

// serviceAnswer is what the API server has said; without a Service there is none, or it was not asked.
type serviceAnswer struct {
	service cluster.Object
	at      time.Time
}

// share is what one namespace may use, so that a tenant who names many Services that do not exist takes no calls from
// others.
type share struct {
	calls *rate.Limiter
	// waits are the milliseconds for which runs wait for answers.
	waits *rate.Limiter
}

// failed is a call that was not answered, and until when it stands for others.
type failed struct {
	err   error
	until time.Time
}

const (
	// answerFor is for how long an answer counts: the paths of an Ingress, and the runs of several bindings and stacks, ask
	// for the same Service.
	answerFor = 2 * time.Second
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
	// failedFor is for how long a call that was not answered stands for the others of its namespace, so that an API server
	// that hangs holds up one call and not one for each name.
	failedFor = 10 * time.Second
	// maxShares bounds the namespaces that are remembered. One more resets all shares.
	maxShares = 1000
)

// NewServices returns a reader. now is its clock.
func NewServices(c corev1client.ServicesGetter, now func() time.Time) *Services {
	return &Services{
		client: c, now: now, timeout: 10 * time.Second, answers: map[cluster.Ref]serviceAnswer{},
		calls: rate.NewLimiter(callsRate, callsBurst), shares: map[string]*share{}, failures: map[string]failed{},
	}
}

// get returns a Service; nil if there is none, or none that may be read. A name that is not valid is never sent: users
// choose it, and the client returns an error for one with a slash.
func (s *Services) get(ctx context.Context, ref cluster.Ref) (cluster.Object, error) {
	if len(validation.IsDNS1123Label(ref.Namespace)) > 0 || len(validation.IsDNS1123Label(ref.Name)) > 0 {
		return nil, nil
	}
	service, deleted, ask, err := s.known(ref)
	if !ask {
		return service, err
	}
	start := s.now()
	call, stop := context.WithTimeout(ctx, s.timeout)
	defer stop()
	svc, err := s.client.Services(ref.Namespace).Get(call, ref.Name, metav1.GetOptions{})
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		s.keep(ref, serviceAnswer{at: now})
	case err != nil:
		s.failures[ref.Namespace] = failed{err, now.Add(failedFor)}
		return nil, err
	default:
		service = cluster.Reduce(svc, "")
		if deleted == s.deleted { // else it may be the one that has gone
			s.keep(ref, serviceAnswer{service, now})
		}
	}
	if own := s.shares[ref.Namespace]; own != nil {
		own.waits.ReserveN(now, int(min(now.Sub(start).Milliseconds(), waitsBurst)))
	}
	return service, nil
}

// known returns an answer that still counts, or what counts where no call is left, and otherwise reports that the API
// server is to be asked. deleted is how many Services have gone so far.
func (s *Services) known(ref cluster.Ref) (service cluster.Object, deleted int, ask bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if a, ok := s.answers[ref]; ok && now.Sub(a.at) < answerFor {
		return a.service, s.deleted, false, nil
	}
	if f, ok := s.failures[ref.Namespace]; ok {
		if now.Before(f.until) {
			return nil, s.deleted, false, fmt.Errorf("read Service %s/%s: the API server did not answer a moment ago: %w", ref.Namespace, ref.Name, f.err)
		}
		delete(s.failures, ref.Namespace)
	}
	if !s.mayAsk(ref.Namespace, now) {
		s.keep(ref, serviceAnswer{at: now}) // the same for all paths of a run
		return nil, s.deleted, false, nil
	}
	return nil, s.deleted, true, nil
}

// mayAsk reports whether the limits admit one more call, which it counts.
func (s *Services) mayAsk(namespace string, now time.Time) bool {
	own := s.shares[namespace]
	if own == nil {
		if len(s.shares) >= maxShares {
			clear(s.shares)
			clear(s.failures)
		}
		own = &share{rate.NewLimiter(shareRate, shareBurst), rate.NewLimiter(waitsRate, waitsBurst)}
		s.shares[namespace] = own
	}
	if own.calls.TokensAt(now) < 1 || own.waits.TokensAt(now) < 1 || !s.calls.AllowN(now, 1) {
		return false
	}
	return own.calls.AllowN(now, 1)
}

// keep remembers an answer.
func (s *Services) keep(ref cluster.Ref, a serviceAnswer) {
	if a.at.Sub(s.swept) >= answerFor {
		maps.DeleteFunc(s.answers, func(_ cluster.Ref, old serviceAnswer) bool { return a.at.Sub(old.at) >= answerFor })
		s.swept = a.at
	}
	if len(s.answers) < maxAnswers {
		s.answers[ref] = a
	}
}

// gone notes that the informer has seen a Service go.
func (s *Services) gone(o cluster.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted++
	delete(s.answers, cluster.RefOf(o))
}
