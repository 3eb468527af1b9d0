package engine

// Fence checks whether this process may still write to AWS and Kubernetes. Only the holder of the lease may write.
type Fence interface {
	// Fence returns an error once this process must not write any more, because another one may have taken over. It is called
	// before every write.
	Fence() error
}

// Unfenced is the fence of a process without a lease: it may always write.
type Unfenced struct{}

// Fence implements Fence.
func (Unfenced) Fence() error { return nil }

// ReadOnly is the fence of a process that never writes.
type ReadOnly struct {
	// Err is the error that Fence returns.
	Err error
}

// Fence implements Fence.
func (r ReadOnly) Fence() error { return r.Err }
