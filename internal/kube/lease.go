package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Lease is a Lease object used as a lock that also records how long this process may still write.
type Lease struct {
	resourcelock.Interface
	ctx             context.Context
	namespace, name string
	events          corev1client.EventsGetter
	clock           clock.PassiveClock
	flags           *flaggedLeases // nil: of a test

	mu      sync.Mutex
	renewed time.Time
}

// serviceAccountNamespace is where a pod finds its own namespace.
const serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// LeaseNamespace returns the namespace that was given, or else that of the pod.
func LeaseNamespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	data, err := os.ReadFile(serviceAccountNamespace)
	if err != nil {
		return "", fmt.Errorf("--leader-election-namespace is needed outside a cluster: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// NewLease returns the lock. An empty namespace means that of the pod; outside a cluster it must
// be given. ctx bounds the writing of events.
func NewLease(ctx context.Context, cfg *rest.Config, namespace, name string, clock clock.PassiveClock) (*Lease, error) {
	namespace, err := LeaseNamespace(namespace)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name for leader election: %w", err)
	}
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	// One hanging request must not use up the time in which the lease can be renewed.
	cfg.Timeout = durations.RenewDeadline / 2
	core, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client for leader election: %w", err)
	}
	coordination, err := coordinationv1client.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client for leader election: %w", err)
	}
	flags := &flaggedLeases{CoordinationV1Interface: coordination}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, core, flags,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, fmt.Errorf("lease %s/%s: %w", namespace, name, err)
	}
	out := fenced(ctx, lock, namespace, name, core, clock)
	out.flags = flags
	return out, nil
}

func fenced(ctx context.Context, lock resourcelock.Interface, namespace, name string, events corev1client.EventsGetter, clock clock.PassiveClock) *Lease {
	return &Lease{Interface: lock, ctx: ctx, namespace: namespace, name: name, events: events, clock: clock}
}

// errNotLeader is what Fence returns.
var errNotLeader = errors.New("the lease is not held by this process")

// Fence returns an error unless the lease is held and was renewed recently enough that no other
// process can have taken it.
func (l *Lease) Fence() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() || l.clock.Now().Sub(l.renewed) >= (durations.RenewDeadline+durations.RetryPeriod) {
		return errNotLeader
	}
	return nil
}

// Create implements the lock.
func (l *Lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.note(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update implements the lock.
func (l *Lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.note(r, func() error { return l.Interface.Update(ctx, r) })
}

// note records when a write that acquires or renews the lease was begun.
func (l *Lease) note(r resourcelock.LeaderElectionRecord, write func() error) error {
	mine := r.HolderIdentity == l.Identity()
	begun := l.clock.Now()
	if !mine {
		l.set(time.Time{}) // released: nothing may be written from here on
	}
	err := write()
	if err == nil && mine {
		l.set(begun)
	}
	return err
}

func (l *Lease) set(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = t
}

// RecordEvent implements the lock.
func (l *Lease) RecordEvent(what string) {
	if l.events == nil {
		return
	}
	ctx, done := context.WithTimeout(l.ctx, durations.RetryPeriod)
	defer done()
	at := metav1.NewTime(l.clock.Now())
	_, _ = l.events.Events(l.namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: l.name + ".", Namespace: l.namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: l.namespace, Name: l.name,
		},
		Type: corev1.EventTypeNormal, Reason: "LeaderElection", Message: l.Identity() + " " + what,
		Count: 1, FirstTimestamp: at, LastTimestamp: at, Source: corev1.EventSource{Component: l.Identity()},
	}, metav1.CreateOptions{})
}
