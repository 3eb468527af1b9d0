package failure

// OtherOwner is the error for a resource that has the tags of another stack. Its value is the error message, which names the
// owner.
type OtherOwner string

// Error implements error.
func (o OtherOwner) Error() string { return string(o) }

// NoStack is the error for a resource that has the tag of a cluster, but no tags of a stack. Its value is the error message,
// which names the owner.
type NoStack string

// Error implements error.
func (o NoStack) Error() string { return string(o) }
