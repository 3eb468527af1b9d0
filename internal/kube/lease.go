package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// Lease is the lock of leader election. It also records when this process renewed the lease, which limits how long this
// process may write.
type Lease struct {
	resourcelock.Interface
	ctx             context.Context
	namespace, name string
	events          corev1client.EventsGetter
	clock           clock.PassiveClock
	flags           *leasesWithFlags // nil without FlagsAnnotation, as in some tests

	mu        sync.Mutex
	renewedAt time.Time // when the last successful renewal was sent; zero: the lease is not held
}

// serviceAccountNamespaceFile is the path of the file in a pod that contains the namespace of the pod.
const serviceAccountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// LeaseNamespace returns configured, or the namespace of the pod if configured is empty. Outside a cluster, an empty value
// is an error.
func LeaseNamespace(configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	namespace, err := PodNamespace()
	if err == nil && namespace == "" {
		err = errors.New("--leader-election-namespace is not set, and this process does not run in a pod; set the flag")
	}
	return namespace, err
}

// PodNamespace returns the namespace of the pod of this process; "" outside a cluster.
func PodNamespace() (string, error) {
	data, err := os.ReadFile(serviceAccountNamespaceFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the namespace of the pod: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// NewLease returns the lock of leader election. An empty namespace means the namespace of the pod, and is an error outside a
// cluster. After ctx has ended, the lock writes no events.
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
	// A single request that hangs must not use up the time in which the lease can be renewed.
	cfg.Timeout = durations.RenewDeadline / 2
	core, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client for leader election: %w", err)
	}
	coordination, err := coordinationv1client.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client for leader election: %w", err)
	}
	flags := &leasesWithFlags{CoordinationV1Interface: coordination}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, core, flags,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, fmt.Errorf("lease %s/%s: %w", namespace, name, err)
	}
	out := newLease(ctx, lock, namespace, name, core, clock)
	out.flags = flags
	return out, nil
}

// newLease returns a Lease that uses lock and does not set FlagsAnnotation. If events is nil, it writes no events.
func newLease(ctx context.Context, lock resourcelock.Interface, namespace, name string, events corev1client.EventsGetter, clock clock.PassiveClock) *Lease {
	return &Lease{Interface: lock, ctx: ctx, namespace: namespace, name: name, events: events, clock: clock}
}

// errNotLeader is the error that Lease.Fence returns.
var errNotLeader = errors.New("the lease is not held by this process")

// CheckFence returns an error if this process does not hold the lease, or if the last renewal is so long ago that another
// process may have acquired the lease.
func (l *Lease) CheckFence() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewedAt.IsZero() || l.clock.Now().Sub(l.renewedAt) >= (durations.RenewDeadline+durations.RetryPeriod) {
		return errNotLeader
	}
	return nil
}

// Get implements resourcelock.Interface. If another process holds the lease, Fence returns an error after this call. This
// case occurs if the Lease object was deleted, because another process can then create the object immediately.
func (l *Lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.setRenewed(time.Time{})
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *Lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.trackRenewal(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update implements resourcelock.Interface.
func (l *Lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.trackRenewal(r, func() error { return l.Interface.Update(ctx, r) })
}

// trackRenewal calls write, which stores the record r in the lease. If r names this process and the write succeeds, it
// records the start of the call as the time of the renewal. If r releases the lease, Fence returns an error from the start
// of the call.
func (l *Lease) trackRenewal(r resourcelock.LeaderElectionRecord, write func() error) error {
	mine := r.HolderIdentity == l.Identity()
	begun := l.clock.Now()
	if !mine {
		l.setRenewed(time.Time{}) // the lease is released, so nothing may be written any more
	}
	err := write()
	if err == nil && mine {
		l.setRenewed(begun)
	}
	return err
}

// setRenewed sets the time of the last renewal; zero means that this process does not hold the lease.
func (l *Lease) setRenewed(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewedAt = t
}

// RecordEvent implements resourcelock.Interface.
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
