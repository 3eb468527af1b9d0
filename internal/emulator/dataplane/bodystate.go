package dataplane

import "sync/atomic"

// Faults of a client's request body.
const (
	bodyTimedOut int32 = iota + 1
	bodyBroken
)

// bodyState is shared by the goroutine that sends the body to the target and the goroutine that answers the client.
type bodyState struct{ fault atomic.Int32 }

func (s *bodyState) set(v int32) { s.fault.CompareAndSwap(0, v) }
func (s *bodyState) get() int32  { return s.fault.Load() }
