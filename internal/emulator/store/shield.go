package store

import "time"

// ShieldState is the state of Shield Advanced in one account. It is in the partition of the region [AWSPartition.Home].
type ShieldState struct {
	Subscribed  time.Time              // time of the subscription; zero if there is none
	Protections map[string]*Protection // by ID
}

func newShieldState() *ShieldState {
	return &ShieldState{Protections: map[string]*Protection{}}
}

// Protection is a Shield Advanced protection of a resource.
type Protection struct {
	ID       string
	ARN      string
	Name     string
	Resource string // ARN
	Tags     map[string]string
}
