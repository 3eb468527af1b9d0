package model

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// A held part of a stack stays unchanged in AWS, because its desired state cannot be determined or AWS refuses it. The
// translators and the engine set the values of this file. internal/plan/listeners/held.go implements their effect on the
// rules of the model, internal/plan/owners/members.go on the existing rules of a HeldMember.

// Held is the set of reasons why a rule, a default action or the order of rules is held; zero if it is not held.
type Held uint8

// The reasons why a rule or action is held.
const (
	// HeldInvalid means that the rule or action cannot be built, or that its member is blocked. If AWS does not have the
	// rule yet, a fixed response with status 503 is created in its place; for a default action the status is 404.
	HeldInvalid Held = 1 << iota
	// HeldRefused means that AWS refuses the rule or action with any values, or refuses even the fixed response with status
	// 503 in its place. If AWS does not have the rule yet, the rule is left out.
	HeldRefused
)

// Has reports whether h includes the reason why.
func (h Held) Has(why Held) bool { return h&why != 0 }

// HeldParts describes which resources of a stack are held, apart from single rules and default actions.
type HeldParts struct {
	// AllResources reports whether no resource of the stack is created, changed or deleted, because a finding blocks the stack
	// or all members are blocked.
	AllResources bool
	// Creation reports whether a load balancer that does not exist must not be created.
	Creation bool
	// Replacement reports whether the existing load balancer keeps its type and scheme, because no replacement can be
	// created.
	Replacement bool
	// SecurityGroups reports whether the security groups of the load balancer are held. The security group rules of nodes
	// and pods are then held as well.
	SecurityGroups bool
	// Frontend reports whether the frontend NLB is held.
	Frontend bool
	// FrontendPorts, Tags and Certificates report whether existing ports of the frontend NLB, tags, or requested
	// certificates stay although they are not desired, because they may belong to a member that cannot be read.
	FrontendPorts, Tags, Certificates bool
	// Members are objects whose existing rules are held, although these objects contribute nothing to the desired state.
	Members []HeldMember
}

// HeldMember is an object that is not accepted any more, or cannot be read, and that may have rules on the existing load
// balancer. Only rules that belong to the object are held: those that forward only to target groups with its tag, and those
// with the conditions and actions to which the object translates now. A rule is held only as long as no accepted member has
// a rule with the same conditions. Nothing else of the object is held.
type HeldMember struct {
	Member finding.Ref
	// All reports whether all rules that belong to the object are held. Otherwise, only those with the conditions of Rules
	// are held.
	All bool
	// Port is the port of the listener to which the rules must belong; 0 means any port.
	Port int32
	// LoadBalancer reports whether the load balancer is not deleted, and keeps its name, even if it has no listeners any
	// more.
	LoadBalancer bool
	// ForeignHosts are hosts that belong to other namespaces. Rules of the object for these hosts are not held.
	ForeignHosts []string
	// Redirects reports whether listeners that only redirect are held. This is needed if the load balancer serves the
	// object, because these listeners may belong to the object.
	Redirects bool
	// Rules are the rules of the object, as far as they can be translated. An existing rule that forwards to no target group
	// of the stack cannot be assigned to a member by tags, so it is recognized by the conditions and actions of Rules.
	Rules []Rule
}

// IsHeldOn reports whether rules of the listener on a port may be held.
func (m HeldMember) IsHeldOn(port int32) bool { return m.Port == 0 || m.Port == port }

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
