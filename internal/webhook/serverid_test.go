package webhook_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// worker is the number that a process claims.
type worker uint32

// Claim implements webhook.WorkerNumbers.
func (w worker) Claim(context.Context) (uint32, error) { return uint32(w), nil }

// refusing claims no number at first.
type refusing struct{ fails bool }

// Claim implements webhook.WorkerNumbers.
func (r *refusing) Claim(context.Context) (uint32, error) {
	if r.fails {
		return 0, errors.New("no rights")
	}
	return 1, nil
}

// always is a source of one number.
type always int

// IntN implements webhook.Random.
func (a always) IntN(int) int { return int(a) }

func TestServerIDsAreNeverRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(1700000000000)))
		began := time.Now()
		c := &webhook.Clock{Worker: worker(42), Clock: clock.RealClock{}, Random: always(120)}
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
		if waited := time.Since(began); waited != 12*2*time.Millisecond { // eight fit into each millisecond from 120 on
			t.Errorf("waited for %s", waited)
		}
	})
}

// A process that ends does not wait for the next millisecond.
func TestServerIDsAreNotWaitedForAtTheEnd(t *testing.T) {
	c := &webhook.Clock{Worker: worker(42), Clock: clocktesting.NewFakeClock(time.UnixMilli(1700000000000)), Random: always(127)}
	if _, err := c.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := c.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestServerIDVector(t *testing.T) {
	c := &webhook.Clock{Worker: worker(42), Clock: clocktesting.NewFakeClock(time.UnixMilli(1700000000000)), Random: always(5)}
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
	now := clocktesting.NewFakeClock(time.UnixMilli(1700000000000))
	numbers := &refusing{fails: true}
	c := &webhook.Clock{Worker: numbers, Clock: now, Random: always(0)}
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("an id without a worker number")
	}
	numbers.fails = false // the next one tries again
	if _, err := c.Next(t.Context()); err != nil {
		t.Error(err)
	}
	now.SetTime(now.Now().Add(-time.Millisecond))
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("an id after the clock went back")
	}
}
