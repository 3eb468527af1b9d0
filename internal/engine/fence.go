package engine

// Fence checks whether this process may still write to AWS and Kubernetes. Only the holder of the lease may write.
type Fence interface {
	// CheckFence returns an error when this process must not write any more, because another process may have taken over. It
	// is called before each write.
	CheckFence() error
}

// NoFence is the Fence of a process without a lease. It always permits writes.
type NoFence struct{}

// CheckFence implements Fence.
func (NoFence) CheckFence() error { return nil }

// ReadOnlyFence is the Fence of a process that never writes.
type ReadOnlyFence struct {
	// Err is the error that Fence returns.
	Err error
}

// CheckFence implements Fence.
func (r ReadOnlyFence) CheckFence() error { return r.Err }
