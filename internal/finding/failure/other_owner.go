package failure

// OtherOwner is whose a resource is, in words, where its tags name another stack.
type OtherOwner string

// Error implements error.
func (o OtherOwner) Error() string { return string(o) }
