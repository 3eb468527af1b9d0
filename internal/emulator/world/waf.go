package world

import (
	"time"

	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
)

// WAFv2State holds web ACLs and their associations.
type WAFv2State struct {
	ACLs map[string]*WebACL // by ARN
	// Associations maps a resource ARN to a web ACL ARN.
	Associations map[string]string
}

// newWAFv2State returns an empty state.
func newWAFv2State() *WAFv2State {
	return &WAFv2State{ACLs: map[string]*WebACL{}, Associations: map[string]string{}}
}

// WebACL is a WAFv2 web ACL. Its rules are stored, not evaluated.
type WebACL struct {
	ACL       waftypes.WebACL
	Scope     waftypes.Scope
	LockToken string
	Created   time.Time
	Tags      map[string]string
}

// WAFRegionalState holds classic regional web ACLs and their associations.
type WAFRegionalState struct {
	ACLs map[string]*ClassicWebACL // by id
	// Associations maps a resource ARN to a web ACL id.
	Associations map[string]string
}

// newWAFRegionalState returns an empty state.
func newWAFRegionalState() *WAFRegionalState {
	return &WAFRegionalState{ACLs: map[string]*ClassicWebACL{}, Associations: map[string]string{}}
}

// ClassicWebACL is a web ACL of WAF Classic.
type ClassicWebACL struct {
	ID      string
	ARN     string
	Name    string
	Metric  string
	Default string // ALLOW, BLOCK or COUNT
	Tags    map[string]string
}
