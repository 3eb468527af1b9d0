package model

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// A held part of a stack stays unchanged in AWS, because its desired state cannot be determined or AWS refuses it.
// Frontends and the engine set the values of this file. internal/plan/listeners/held.go decides what follows for rules
// in the model, internal/plan/owners/members.go for the live rules of a HeldMember.

// Held are the reasons why a rule, a default action or the order of rules is held; zero if it is not.
type Held uint8

// The reasons of Held.
const (
	// HeldInvalid means that the rule or action cannot be built, or that its member is blocked. If a rule is not live, a
	// fixed response with status 503 takes its place; for a default action it is 404.
	HeldInvalid Held = 1 << iota
	// HeldRefused means that AWS refuses the rule or action with any values, or even the response with status 503 in its
	// place. If a rule is not live, it is left out.
	HeldRefused
)

// Has reports whether h includes a reason.
func (h Held) Has(why Held) bool { return h&why != 0 }

// HeldParts are parts of a stack that are held as a whole.
type HeldParts struct {
	// Everything reports whether nothing is made, changed or deleted, because a finding blocks the stack or all
	// members are blocked.
	Everything bool
	// Creation reports whether no load balancer is created if none is live.
	Creation bool
	// Replacement reports whether a live load balancer keeps its type and scheme, because its replacement cannot be made.
	Replacement bool
	// SecurityGroups reports whether the security groups of the load balancer are held, and with them the rules of nodes and
	// pods.
	SecurityGroups bool
	// Frontend reports whether the frontend NLB is held.
	Frontend bool
	// FrontendPorts, Tags and Certificates report whether live ports of the frontend NLB, tags, or requested certificates
	// stay although they are not desired, because a member that cannot be read may have them.
	FrontendPorts, Tags, Certificates bool
	// Members are objects with live rules that are held, although they contribute nothing to the desired state.
	Members []HeldMember
}

// HeldMember is an object of a live load balancer that is not accepted any more, or cannot be read. At most live rules of
// its own are held: those that forward only to target groups with its tag, and those with the conditions and actions that it
// translates to now. They are held only as long as no accepted member has a rule with the same conditions. Nothing else of
// the object is held.
type HeldMember struct {
	Member finding.Ref
	// All reports whether all of its own rules are held; otherwise only those with the conditions of Rules are.
	All bool
	// LoadBalancer reports whether the load balancer itself is held with its name, even if it has no listeners any more.
	LoadBalancer bool
	// ForeignHosts are hosts of other namespaces. Its rules for them are not held.
	ForeignHosts []string
	// Redirects reports whether listeners that only redirect are held, because the object is served and may have them.
	Redirects bool
	// Rules are its rules as far as they can be translated. Live rules that forward to no target group of the stack have no
	// tag of a member, and are recognised by the conditions and actions of these.
	Rules []Rule
}

// String returns the reasons, separated by commas.
func (h Held) String() string {
	var out []string
	for _, r := range []struct {
		bit  Held
		name string
	}{{HeldInvalid, "invalid"}, {HeldRefused, "refused"}} {
		if h.Has(r.bit) {
			out = append(out, r.name)
		}
	}
	return strings.Join(out, ", ")
}

// MarshalText returns the result of String.
func (h Held) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
