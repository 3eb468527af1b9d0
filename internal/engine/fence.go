package engine

// Fence checks whether this process may still write to AWS and Kubernetes. Only the holder of the lease may write.
type Fence interface {
	// Fence returns an error when this process must not write any more, because another process may have taken over. It is
	// called before each write.
	Fence() error
}

// Unfenced is the Fence of a process without a lease. It always permits writes.
type Unfenced struct{}

// Fence implements Fence.
func (Unfenced) Fence() error { return nil }

// ReadOnly is the Fence of a process that never writes.
type ReadOnly struct {
	// Err is the error that Fence returns.
	Err error
}

// Fence implements Fence.
func (r ReadOnly) Fence() error { return r.Err }
