package model

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// What is held stays as it is live in AWS, because what is desired of it cannot be determined or is
// refused. This file has all the ways to say so. Frontends and the engine set them; internal/plan/listeners/held.go
// decides what follows for rules in the model, internal/plan/owners/members.go for the live rules of a HeldMember.

// Held is why a rule, a default action or an order is held; zero where it is not. There may be
// several reasons.
type Held uint8

// The reasons to hold.
const (
	// HeldInvalid is set where the thing cannot be built, or its member is blocked. Where nothing of a
	// rule is live, a fixed 503 takes its place; where nothing of a default action is, a 404 does.
	HeldInvalid Held = 1 << iota
	// HeldRefused is set while AWS refuses the thing whatever its values, or even the 503 in its
	// place. Where nothing of a rule is live, it is left out.
	HeldRefused
)

// Has reports whether a reason is among those of h.
func (h Held) Has(why Held) bool { return h&why != 0 }

// HeldParts are parts of a stack that are held as a whole.
type HeldParts struct {
	// Everything: nothing is made, changed or deleted. Set by a finding that blocks the stack, or when
	// every member is blocked.
	Everything bool
	// Creation: no load balancer is made where none is live.
	Creation bool
	// Replacement: a live load balancer keeps the type and scheme that it has, as the one that would take its
	// place cannot be made.
	Replacement bool
	// SecurityGroups are the security groups of the load balancer, and the rules of nodes and pods that go with them.
	SecurityGroups bool
	// Frontend is the frontend NLB of the ALB.
	Frontend bool
	// Of ports of the one in front, tags and requested certificates none is taken away that the stack
	// does not ask for: a member that cannot be read may ask for it.
	FrontendPorts, Tags, Certificates bool
	// Members of which live rules are held although they contribute nothing to the desired state.
	Members []HeldMember
}

// HeldMember is an object that is not accepted (any more), or cannot be read, and whose load balancer is
// there. At most live rules of its own are held: those that forward only to target groups that carry
// its tag, and those that do what it translates to now; and these only while no accepted member wants
// a rule with the same conditions. Nothing else of it counts.
type HeldMember struct {
	Member finding.Ref
	// All holds all of its own rules; otherwise only those with the conditions of Rules.
	All bool
	// LoadBalancer holds the load balancer itself with its name, also where nothing on it is left.
	LoadBalancer bool
	// ForeignHosts are hosts that belong to other namespaces; none of its rules for them is held.
	ForeignHosts []string
	// Redirects holds listeners that do nothing but redirect: it is served, and may have asked for them.
	Redirects bool
	// Rules are its rules as far as they can be translated. Those that forward to no target group of the
	// stack carry no tag of a member, and are known by their conditions and actions.
	Rules []Rule
}

// String lists the reasons.
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

// MarshalText writes what String returns.
func (h Held) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
