package store

import (
	"time"

	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
)

// WAFv2State contains the web ACLs of WAFv2 and their associations.
type WAFv2State struct {
	ACLs map[string]*WebACL // by ARN
	// Associations maps a resource ARN to a web ACL ARN.
	Associations map[string]string
	// Changes contains the last change of each association, by resource ARN, because reads may still return the previous web
	// ACL.
	Changes map[string]AssociationChange
}

// AssociationChange is a change of a resource's web ACL.
type AssociationChange struct {
	Previous string // ARN of the previous web ACL, "" for none
	At       time.Time
}

// newWAFv2State returns an empty state.
func newWAFv2State() *WAFv2State {
	return &WAFv2State{ACLs: map[string]*WebACL{}, Associations: map[string]string{}, Changes: map[string]AssociationChange{}}
}

// WebACL is a WAFv2 web ACL. Its rules are stored, not evaluated.
type WebACL struct {
	ACL       waftypes.WebACL
	Scope     waftypes.Scope
	LockToken string
	Created   time.Time
	Tags      map[string]string
}

// WAFRegionalState contains the web ACLs of WAF Classic (regional) and their associations.
type WAFRegionalState struct {
	ACLs map[string]*ClassicWebACL // by id
	// Tokens contains the unused change tokens.
	Tokens map[string]bool
	// Associations maps a resource ARN to a web ACL id.
	Associations map[string]string
}

// newWAFRegionalState returns an empty state.
func newWAFRegionalState() *WAFRegionalState {
	return &WAFRegionalState{ACLs: map[string]*ClassicWebACL{}, Tokens: map[string]bool{}, Associations: map[string]string{}}
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
