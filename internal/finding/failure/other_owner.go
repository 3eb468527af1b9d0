package failure

// OtherOwner is the error that a resource has the tags of another stack. It is a text about the owner.
type OtherOwner string

// Error implements error.
func (o OtherOwner) Error() string { return string(o) }

// NoStack is the error that a resource has the tags of a cluster and of no stack. It is a text about the owner.
type NoStack string

// Error implements error.
func (o NoStack) Error() string { return string(o) }
