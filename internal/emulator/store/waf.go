package store

import (
	"time"

	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
)

// WAFv2State has the web ACLs of WAFv2 and their associations, in one account and region.
type WAFv2State struct {
	ACLs map[string]*WebACL // by ARN
	// Associations maps the ARN of a resource to the ARN of its web ACL.
	Associations map[string]string
	// Changes maps the ARN of a resource to the last change of its web ACL, because reads may still return the previous one.
	Changes map[string]AssociationChange
}

// AssociationChange is a change of a resource's web ACL.
type AssociationChange struct {
	Previous string // ARN of the previous web ACL, "" for none
	At       time.Time
}

func newWAFv2State() *WAFv2State {
	return &WAFv2State{ACLs: map[string]*WebACL{}, Associations: map[string]string{}, Changes: map[string]AssociationChange{}}
}

// WebACL is a WAFv2 web ACL. Its rules are stored, but not evaluated.
type WebACL struct {
	ACL       waftypes.WebACL
	Scope     waftypes.Scope
	LockToken string
	Created   time.Time
	Tags      map[string]string
}

// WAFRegionalState has the web ACLs of WAF Classic (regional) and their associations, in one account and region.
type WAFRegionalState struct {
	ACLs map[string]*ClassicWebACL // by ID
	// Tokens has the change tokens that are not used yet.
	Tokens map[string]bool
	// Associations maps the ARN of a resource to the ID of its web ACL.
	Associations map[string]string
}

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
