package webhook

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// The bits of a server id: milliseconds since 2020, then the worker, then a sequence number.
const (
	idEpoch      = 1577836800000 // ms
	workerBits   = 17
	sequenceBits = 7
	// Workers is how many worker numbers there are.
	Workers = 1 << workerBits
)

// Clock makes server ids from the time, so that processes with different worker numbers never make
// the same one. It is safe for concurrent use.
type Clock struct {
	Worker WorkerNumbers
	Clock  clock.Clock
	Random Random

	mu      sync.Mutex
	claimed bool
	worker  uint32
	last    int64 // ms
	seq     int64
}

// WorkerNumbers are claimed by processes, one by each.
type WorkerNumbers interface {
	// Claim claims a worker number below Workers. It is called until it gives one.
	Claim(ctx context.Context) (uint32, error)
}

// Random is a source of random numbers. It need not be safe for concurrent use.
type Random interface {
	// IntN returns a number in [0, n).
	IntN(n int) int
}

// Next implements ServerIDs.
func (c *Clock) Next(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.claimed {
		w, err := c.Worker.Claim(ctx)
		if err != nil {
			return "", fmt.Errorf("claim a worker number: %w", err)
		}
		c.worker, c.claimed = w%Workers, true
	}
	for {
		now := c.Clock.Now().UnixMilli()
		switch {
		case now < c.last:
			return "", fmt.Errorf("the clock has gone back by %d ms", c.last-now)
		case now > c.last:
			c.last, c.seq = now, int64(c.Random.IntN(1<<sequenceBits-1))
			return c.id(), nil
		case c.seq+1 < 1<<sequenceBits:
			c.seq++
			return c.id(), nil
		}
		wait := c.Clock.NewTimer(2 * time.Millisecond)
		select {
		case <-ctx.Done():
			wait.Stop()
			return "", ctx.Err()
		case <-wait.C():
		}
	}
}

func (c *Clock) id() string {
	id := uint64(c.last-idEpoch)<<(workerBits+sequenceBits) | uint64(c.worker)<<sequenceBits | uint64(c.seq)
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, id))
}
