package kube

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Services asks the API server for Services that the informer does not hold. Each kind has a watch of its own, so that an
// Ingress may arrive before the Service that it names and that was made first. A live rule would answer 503 until the
// Service arrives.
type Services struct {
	client  corev1client.ServicesGetter
	now     func() time.Time
	rate    flowcontrol.PassiveRateLimiter
	timeout time.Duration // of a call

	mu     sync.Mutex
	absent map[cluster.Ref]time.Time                 // since when the API server has said so
	shares map[string]flowcontrol.PassiveRateLimiter // of the rate, by namespace
}

const (
	// absentFor is for how long an answer counts: the runs of several bindings and stacks ask for the same Service.
	absentFor = 2 * time.Second
	// maxAbsent bounds the names that are remembered: they are what users choose.
	maxAbsent = 10_000
	// servicesRate is the calls a second of all namespaces, servicesBurst those at once. Beyond them, what the informer
	// holds counts.
	servicesRate, servicesBurst = 10, 200
	// shareRate and shareBurst are those of one namespace, so that a tenant who names many Services that do not exist takes
	// no calls from others.
	shareRate, shareBurst = 1, 50
	// maxShares bounds the namespaces that are remembered. One more resets all shares.
	maxShares = 1000
)

// NewServices returns a reader. now is its clock.
func NewServices(c corev1client.ServicesGetter, now func() time.Time) *Services {
	return &Services{
		client: c, now: now, timeout: 10 * time.Second, absent: map[cluster.Ref]time.Time{}, shares: map[string]flowcontrol.PassiveRateLimiter{},
		rate: flowcontrol.NewTokenBucketPassiveRateLimiter(servicesRate, servicesBurst),
	}
}

// get returns a Service; nil if there is none, or none that may be read. A name that is not valid is never sent: users
// choose it, and the client returns an error for one with a slash.
func (s *Services) get(ctx context.Context, ref cluster.Ref) (cluster.Object, error) {
	if len(validation.IsDNS1123Label(ref.Namespace)) > 0 || len(validation.IsDNS1123Label(ref.Name)) > 0 || s.isAbsent(ref) || !s.mayAsk(ref.Namespace) {
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, s.timeout)
	defer stop()
	svc, err := s.client.Services(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		s.noteAbsent(ref)
		return nil, nil
	case err != nil:
		return nil, err
	}
	return cluster.Reduce(svc, ""), nil
}

// isAbsent reports whether the API server has said a moment ago that there is no such Service.
func (s *Services) isAbsent(ref cluster.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, ok := s.absent[ref]
	return ok && s.now().Sub(since) < absentFor
}

// mayAsk reports whether the rate and the share of a namespace admit one more call, which it counts.
func (s *Services) mayAsk(namespace string) bool {
	s.mu.Lock()
	share := s.shares[namespace]
	if share == nil {
		if len(s.shares) >= maxShares {
			clear(s.shares)
		}
		share = flowcontrol.NewTokenBucketPassiveRateLimiter(shareRate, shareBurst)
		s.shares[namespace] = share
	}
	s.mu.Unlock()
	return share.TryAccept() && s.rate.TryAccept()
}

func (s *Services) noteAbsent(ref cluster.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if len(s.absent) >= maxAbsent {
		for r, since := range s.absent {
			if now.Sub(since) >= absentFor {
				delete(s.absent, r)
			}
		}
	}
	if len(s.absent) < maxAbsent {
		s.absent[ref] = now
	}
}
