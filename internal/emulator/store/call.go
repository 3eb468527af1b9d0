package store

import "time"

// Call is the context of a request for its operation, beside the input.
type Call struct {
	// Account is the twelve digit account of the caller's credentials.
	Account string
	// Region is taken from the signature's scope.
	Region string
	// Now is the emulator's time when the operation began.
	Now time.Time
	// RequestID is the identifier that the response will carry.
	RequestID string
	// AccessKey is the caller's access key identifier; empty when unsigned.
	AccessKey string
	// Caller is the principal of the access key.
	Caller Principal
	// Service and Operation name the call, such as "ec2" and "CreateVpc".
	Service, Operation string
	// Partition is the state of Account in Region.
	Partition *Partition
}
