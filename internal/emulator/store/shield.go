package store

import "time"

// ShieldState is the state of Shield Advanced in one account.
type ShieldState struct {
	Subscribed  time.Time              // zero without a subscription
	Protections map[string]*Protection // by id
}

// newShieldState returns a state without subscription.
func newShieldState() *ShieldState {
	return &ShieldState{Protections: map[string]*Protection{}}
}

// Protection is a protected resource.
type Protection struct {
	ID       string
	ARN      string
	Name     string
	Resource string // ARN
	Tags     map[string]string
}
