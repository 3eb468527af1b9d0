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

// constantWorker always claims the same worker number.
type constantWorker uint32

// Claim implements webhook.WorkerNumbers.
func (w constantWorker) Claim(context.Context) (uint32, error) { return uint32(w), nil }

// failingWorkers fails to claim a worker number while fails is set.
type failingWorkers struct{ fails bool }

// Claim implements webhook.WorkerNumbers.
func (r *failingWorkers) Claim(context.Context) (uint32, error) {
	if r.fails {
		return 0, errors.New("no rights")
	}
	return 1, nil
}

// constantRandom is a random source that always returns the same number.
type constantRandom int

// IntN implements webhook.Random.
func (a constantRandom) IntN(int) int { return int(a) }

func TestServerIDsAreNeverRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(1700000000000)))
		began := time.Now()
		c := &webhook.ServerIDGenerator{WorkerNumbers: constantWorker(42), Clock: clock.RealClock{}, Random: constantRandom(120)}
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
		if waited := time.Since(began); waited != 12*2*time.Millisecond { // from 120 on, eight IDs fit into each millisecond
			t.Errorf("waited for %s", waited)
		}
	})
}

// TestServerIDGenerationEndsWithItsContext checks that Next does not wait for the next millisecond after its context has
// ended.
func TestServerIDGenerationEndsWithItsContext(t *testing.T) {
	c := &webhook.ServerIDGenerator{WorkerNumbers: constantWorker(42), Clock: clocktesting.NewFakeClock(time.UnixMilli(1700000000000)), Random: constantRandom(127)}
	if _, err := c.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := c.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestServerIDHasExpectedBits(t *testing.T) {
	c := &webhook.ServerIDGenerator{WorkerNumbers: constantWorker(42), Clock: clocktesting.NewFakeClock(time.UnixMilli(1700000000000)), Random: constantRandom(5)}
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
	numbers := &failingWorkers{fails: true}
	c := &webhook.ServerIDGenerator{WorkerNumbers: numbers, Clock: now, Random: constantRandom(0)}
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("an id without a worker number")
	}
	numbers.fails = false // the next call retries
	if _, err := c.Next(t.Context()); err != nil {
		t.Error(err)
	}
	now.SetTime(now.Now().Add(-time.Millisecond))
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("an id after the clock went back")
	}
}
