package webhook_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

func TestServerIDsAreNeverRepeated(t *testing.T) {
	now := time.UnixMilli(1700000000000)
	waits := 0
	c := &webhook.Clock{
		Worker: func(context.Context) (uint32, error) { return 42, nil },
		Clock:  testclock.Of(&now), Random: func(int) int { return 120 },
		Wait: func(_ context.Context, d time.Duration) error { now, waits = now.Add(d), waits+1; return nil },
	}
	seen := map[string]bool{}
	for range 100 {
		id, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seen[id] {
			t.Fatalf("%s was given twice", id)
		}
		seen[id] = true
	}
	if waits != 12 { // eight fit into each millisecond from 120 on
		t.Errorf("%d waits", waits)
	}
}

func TestServerIDVector(t *testing.T) {
	c := &webhook.Clock{
		Worker: func(context.Context) (uint32, error) { return 42, nil },
		Clock:  clocktesting.NewFakePassiveClock(time.UnixMilli(1700000000000)), Random: func(int) int { return 5 },
	}
	id, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(id)
	if err != nil || hex.EncodeToString(raw) != "1c717e8000001505" {
		t.Errorf("%s is %x (%v)", id, raw, err)
	}
}

func TestServerIDsFailRatherThanRepeat(t *testing.T) {
	now := time.UnixMilli(1700000000000)
	fails := true
	c := &webhook.Clock{
		Worker: func(context.Context) (uint32, error) {
			if fails {
				return 0, errors.New("no rights")
			}
			return 1, nil
		},
		Clock: testclock.Of(&now), Random: func(int) int { return 0 },
	}
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("an id without a worker number")
	}
	fails = false // the next one tries again
	if _, err := c.Next(t.Context()); err != nil {
		t.Error(err)
	}
	now = now.Add(-time.Millisecond)
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("an id after the clock went back")
	}
}
