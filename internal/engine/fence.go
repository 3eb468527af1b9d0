package engine

// Fence is the right of this process to write.
type Fence interface {
	// Fence returns an error once this process must not write any more, because another one may have taken over. It is
	// asked before every write.
	Fence() error
}

// Unfenced is the fence of a process beside which there is no other: it may always write.
type Unfenced struct{}

// Fence implements Fence.
func (Unfenced) Fence() error { return nil }

// ReadOnly is the fence of a process that never writes.
type ReadOnly struct {
	// Err is what each write fails with.
	Err error
}

// Fence implements Fence.
func (r ReadOnly) Fence() error { return r.Err }
