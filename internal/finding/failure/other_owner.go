package failure

// OtherOwner is the owner of a resource, in words, where its tags name another stack.
type OtherOwner string

// Error implements error.
func (o OtherOwner) Error() string { return string(o) }

// NoStack is the owner of a resource, in words, where its tags name a cluster and no stack.
type NoStack string

// Error implements error.
func (o NoStack) Error() string { return string(o) }
