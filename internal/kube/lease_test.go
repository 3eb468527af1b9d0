package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// fakeLock is a resource lock. Get, Create and Update return err.
type fakeLock struct {
	err    error
	holder string // the holder in the record that Get returns
	// beforeUpdate, if not nil, is called before an update is answered.
	beforeUpdate func()
}

func (l *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, l.err
}
func (l *fakeLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }
func (l *fakeLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	if l.beforeUpdate != nil {
		l.beforeUpdate()
	}
	return l.err
}
func (l *fakeLock) RecordEvent(string) {}
func (l *fakeLock) Identity() string   { return "me" }
func (l *fakeLock) Describe() string   { return "lock" }

func TestFenceClosesBeforeAnotherLeaderMayWrite(t *testing.T) {
	at := time.Unix(1000, 0)
	server := &fakeLock{}
	l := newLease(context.Background(), server, "ns", "name", nil, testclock.FromVariable(&at))
	open := func() bool { return l.CheckFence() == nil }
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}

	if open() {
		t.Error("open before the lease is held")
	}
	if err := l.Create(context.Background(), mine); err != nil || !open() {
		t.Errorf("closed although the lease is held: %v", err)
	}
	at = at.Add((durations.RenewDeadline + durations.RetryPeriod) - time.Second)
	if !open() {
		t.Error("closed too early")
	}
	at = at.Add(time.Second)
	if open() {
		t.Error("open although the lease was not renewed")
	}
	if err := l.Update(context.Background(), mine); err != nil || !open() {
		t.Errorf("closed although the lease is renewed: %v", err)
	}
	server.err = errors.New("no answer")
	at = at.Add(time.Second)
	if _ = l.Update(context.Background(), mine); !open() {
		t.Error("one failed renewal closes the fence")
	}
	// Releasing the lease closes the fence immediately, even if the answer to the release is lost.
	if _ = l.Update(context.Background(), resourcelock.LeaderElectionRecord{}); open() {
		t.Error("open after the lease was released")
	}
}

// TestFenceClosesWhenAnotherProcessHoldsTheLease checks a holder whose lease was deleted and created by another process. The
// fence closes when the holder reads this, and not only when its last renewal is too old.
func TestFenceClosesWhenAnotherProcessHoldsTheLease(t *testing.T) {
	at := time.Unix(1000, 0)
	server := &fakeLock{holder: "me"}
	l := newLease(t.Context(), server, "ns", "name", nil, testclock.FromVariable(&at))
	if err := l.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		holder string
		err    error
		open   bool
	}{{"me", nil, true}, {"other", errors.New("no answer"), true}, {"other", nil, false}} {
		server.holder, server.err = c.holder, c.err
		if _, _, err := l.Get(t.Context()); !errors.Is(err, c.err) || (l.CheckFence() == nil) != c.open {
			t.Errorf("%+v: open %t, error %v", c, l.CheckFence() == nil, err)
		}
	}
}

// TestSlowRenewalCountsFromTheRequest checks that the validity of a renewal counts from the time at which its request was
// sent. The API server may have stored the renewal at that time, and other processes count from it.
func TestSlowRenewalCountsFromTheRequest(t *testing.T) {
	at := time.Unix(1000, 0)
	server := &fakeLock{beforeUpdate: func() { at = at.Add(5 * time.Second) }}
	l := newLease(t.Context(), server, "ns", "name", nil, testclock.FromVariable(&at))
	sent := at
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil {
		t.Fatal(err)
	}
	at = sent.Add(durations.RenewDeadline + durations.RetryPeriod - time.Second)
	if l.CheckFence() != nil {
		t.Error("closed too early")
	}
	at = at.Add(time.Second)
	if l.CheckFence() == nil {
		t.Error("open although the renewal was requested too long ago")
	}
}
