package failure

// OtherOwnerError is the error for a resource that has the tags of another stack. Its value is the error message, which
// names the owner.
type OtherOwnerError string

// Error implements error.
func (o OtherOwnerError) Error() string { return string(o) }

// NoStackError is the error for a resource that has the tag of a cluster, but no tags of a stack. Its value is the error
// message, which names the owner.
type NoStackError string

// Error implements error.
func (o NoStackError) Error() string { return string(o) }
