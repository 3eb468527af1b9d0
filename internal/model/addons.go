package model

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// AddOns are the associations of a load balancer with AWS WAF and AWS Shield. If a field is nil, the association is not
// managed, and an existing association in AWS is not changed.
type AddOns struct {
	WebACL     *WebACL
	ClassicACL *ClassicACL
	Shield     *Shield
}

// WebACL is the desired web ACL of AWS WAFv2, by ARN or by name. If both are empty, the load balancer must have no web ACL.
type WebACL struct {
	ARN, Name string
	Of        finding.Origin
}

// ClassicACL is the desired web ACL of AWS WAF Classic, by id. If ID is empty, the load balancer must have no web ACL.
type ClassicACL struct {
	ID string
	Of finding.Origin
}

// Shield is the desired state of the protection of the load balancer by AWS Shield Advanced: on or off.
type Shield struct {
	On bool
	Of finding.Origin
}

// AddOn is an AWS service with which a load balancer can be associated.
type AddOn string

// The values of AddOn.
const (
	WAFv2          AddOn = "wafv2"
	WAFClassic     AddOn = "waf-regional"
	ShieldAdvanced AddOn = "shield"
)

// AskAddOn asks which resource of another AWS service is associated with a load balancer. ARN is the ARN of the load
// balancer.
type AskAddOn struct {
	Of  AddOn
	ARN string
}

// AskWebACL asks for a web ACL of WAFv2 by name.
type AskWebACL struct{ Name string }

// AskSubscription asks whether the account has subscribed to Shield Advanced.
type AskSubscription struct{}

// AskTrustStores asks for trust stores by name.
type AskTrustStores struct{ Names []string } // in ascending order without duplicates

// Key implements Question.
func (q AskAddOn) Key() string { return "add-on " + string(q.Of) + " " + q.ARN }

// Key implements Question.
func (q AskWebACL) Key() string { return "web acl " + q.Name }

// Key implements Question.
func (AskSubscription) Key() string { return "shield subscription" }

// Key implements Question.
func (q AskTrustStores) Key() string { return fmt.Sprintf("trust stores %q", q.Names) }

// questions returns the questions about add-ons that do not depend on the observed state.
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
