package dataplane

import "sync/atomic"

// Reasons why the request body of a client could not be read.
const (
	bodyTimedOut int32 = iota + 1
	bodyBroken
)

// bodyState contains the first fault of a request body, or 0. The goroutine that sends the body to the target and the
// goroutine that answers the client share it.
type bodyState struct{ fault atomic.Int32 }

func (s *bodyState) set(v int32) { s.fault.CompareAndSwap(0, v) }
func (s *bodyState) get() int32  { return s.fault.Load() }
