package model

import "github.com/fulcrum-lb/fulcrum/internal/finding"

// AddOns are the associations of a load balancer with AWS WAF and Shield. A nil association is not managed: if it exists in
// AWS, it stays.
type AddOns struct {
	WebACL     *WebACL
	ClassicACL *ClassicACL
	Shield     *Shield
}

// WebACL is the desired web ACL of WAFv2, by ARN or by name. With neither, the load balancer has none.
type WebACL struct {
	ARN, Name string
	Of        finding.Origin
}

// ClassicACL is the desired web ACL of WAF Classic, by id. With an empty id, the load balancer has none.
type ClassicACL struct {
	ID string
	Of finding.Origin
}

// Shield reports whether Shield Advanced is to protect the load balancer.
type Shield struct {
	On bool
	Of finding.Origin
}

// AddOn is a service with which a load balancer can be associated.
type AddOn string

// The values of AddOn.
const (
	WAFv2      AddOn = "wafv2"
	WAFClassic AddOn = "waf-regional"
	ShieldPlan AddOn = "shield"
)

// AskAddOn asks for the association of a live load balancer with a service.
type AskAddOn struct {
	Of  AddOn
	ARN string
}

// AskWebACL asks for a web ACL of WAFv2 by name.
type AskWebACL struct{ Name string }

// AskSubscription asks whether the account has subscribed to Shield Advanced.
type AskSubscription struct{}

// AskTrustStores asks for trust stores by name.
type AskTrustStores struct{ Names string } // sorted, unique, joined by commas

// Key implements Question.
func (q AskAddOn) Key() string { return "add-on " + string(q.Of) + " " + q.ARN }

// Key implements Question.
func (q AskWebACL) Key() string { return "web acl " + q.Name }

// Key implements Question.
func (AskSubscription) Key() string { return "shield subscription" }

// Key implements Question.
func (q AskTrustStores) Key() string { return "trust stores " + q.Names }

// questions returns the questions that do not depend on the observed state.
func (a AddOns) questions() []Question {
	var out []Question
	if a.WebACL != nil && a.WebACL.Name != "" {
		out = append(out, AskWebACL{Name: a.WebACL.Name})
	}
	if a.Shield != nil && a.Shield.On {
		out = append(out, AskSubscription{})
	}
	return out
}
