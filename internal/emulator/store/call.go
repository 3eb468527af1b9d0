package store

import "time"

// Call has the properties of a request, except the input of its operation.
type Call struct {
	// Account is the account ID of the caller, twelve digits.
	Account string
	// Region is the region in the credential scope of the signature.
	Region string
	// Now is the emulator's time when the operation began.
	Now time.Time
	// RequestID is the request ID of the response.
	RequestID string
	// AccessKey is the access key ID of the caller, or "" for an unsigned request.
	AccessKey string
	// Caller is the principal of the access key.
	Caller Principal
	// Service and Operation name the call, such as "ec2" and "CreateVpc".
	Service, Operation string
	// Partition is the state of Account in Region.
	Partition *Partition
}
