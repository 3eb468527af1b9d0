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

// The bits of a server ID: milliseconds since 2020, then the worker number, then a sequence number.
const (
	idEpochMillis = 1577836800000 // ms
	workerBits    = 17
	sequenceBits  = 7
	// WorkerCount is the number of possible worker numbers.
	WorkerCount = 1 << workerBits
)

// ServerIDGenerator generates server IDs from the time and a worker number. Processes with different worker numbers never
// generate the same server ID. It is safe for concurrent use.
type ServerIDGenerator struct {
	WorkerNumbers WorkerNumbers
	Clock         clock.Clock
	Random        Random

	mu         sync.Mutex
	hasWorker  bool
	worker     uint32
	lastMillis int64 // ms
	sequence   int64
}

// WorkerNumbers assigns worker numbers. Each process claims one worker number.
type WorkerNumbers interface {
	// Claim claims a worker number below WorkerCount. After an error, ServerIDGenerator calls Claim again for the next
	// server ID.
	Claim(ctx context.Context) (uint32, error)
}

// Random is a source of random numbers. It need not be safe for concurrent use.
type Random interface {
	// IntN returns a number in [0, n).
	IntN(n int) int
}

// Next returns a server ID that it has not returned before.
func (g *ServerIDGenerator) Next(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.hasWorker {
		w, err := g.WorkerNumbers.Claim(ctx)
		if err != nil {
			return "", fmt.Errorf("claim a worker number: %w", err)
		}
		g.worker, g.hasWorker = w%WorkerCount, true
	}
	for {
		now := g.Clock.Now().UnixMilli()
		switch {
		case now < g.lastMillis:
			return "", fmt.Errorf("the clock was set back by %d ms", g.lastMillis-now)
		case now > g.lastMillis:
			g.lastMillis, g.sequence = now, int64(g.Random.IntN(1<<sequenceBits-1))
			return g.newID(), nil
		case g.sequence+1 < 1<<sequenceBits:
			g.sequence++
			return g.newID(), nil
		}
		wait := g.Clock.NewTimer(2 * time.Millisecond)
		select {
		case <-ctx.Done():
			wait.Stop()
			return "", ctx.Err()
		case <-wait.C():
		}
	}
}

// newID returns the server ID for lastMillis, worker and sequence.
func (g *ServerIDGenerator) newID() string {
	id := uint64(g.lastMillis-idEpochMillis)<<(workerBits+sequenceBits) | uint64(g.worker)<<sequenceBits | uint64(g.sequence)
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, id))
}
