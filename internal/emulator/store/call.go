package store

import "time"

// Call contains the properties of a request other than the input of its operation.
type Call struct {
	// Account is the account id of the caller, twelve digits.
	Account string
	// Region is the region in the signature's scope.
	Region string
	// Now is the emulator's time when the operation began.
	Now time.Time
	// RequestID is the request id of the response.
	RequestID string
	// AccessKey is the caller's access key id, "" for an unsigned request.
	AccessKey string
	// Caller is the principal of the access key.
	Caller Principal
	// Service and Operation name the call, such as "ec2" and "CreateVpc".
	Service, Operation string
	// Partition is the state of Account in Region.
	Partition *Partition
}
