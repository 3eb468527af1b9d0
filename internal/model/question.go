package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Question asks for facts in AWS that a translation or a plan needs, mostly about resources outside the stack. Two questions
// are equal if their keys are equal.
type Question interface {
	// Key identifies the question, so that it is asked only once.
	Key() string
}

// AskSubnets asks for subnets by id or name, by tags, or by discovery for a scheme. Exactly one of Refs, Tags and Discover
// is set.
type AskSubnets struct {
	Refs     string // ids and names joined by commas; "" if the subnets are not named
	Tags     string // "k=v1|v2,k2=v3" in ascending order of keys; "" if the subnets are not chosen by tags
	Discover Scheme // "" if the subnets are not discovered
	Choice   SubnetChoice
	// NLB reports whether the subnets are for a network load balancer.
	NLB bool
}

// AskNamedSecurityGroups asks for security groups of any owner, by id or name.
type AskNamedSecurityGroups struct{ List []string }

// AskCertificates asks for the issued certificates in ACM, with their domains.
type AskCertificates struct{}

// AskTargetGroup asks for a target group of any owner, by name or by ARN.
type AskTargetGroup struct{ Ref string }

// AskScheme asks for the scheme of the load balancer of another stack that has the given DNS name.
type AskScheme struct {
	Of      StackID
	DNSName string
}

// Key implements Question.
func (q AskScheme) Key() string { return "scheme of " + q.Of.String() + " at " + q.DNSName }

// AskVPC asks for the address ranges of the VPC of the cluster.
type AskVPC struct{}

// Key implements Question.
func (AskVPC) Key() string { return "vpc" }

// AskBackendSecurityGroup asks for the shared backend security group of the cluster.
type AskBackendSecurityGroup struct{}

// AskHealth asks for the health of the targets of the target group with an ARN. The target group belongs to the stack.
type AskHealth struct{ ARN string }

// AskAdopted asks for the resources of another stack, to treat them like resources of this stack. While a load balancer is
// taken over or returned, its resources have the tags of one of the two stacks, or of both.
type AskAdopted struct{ From StackID }

// Key implements Question.
func (q AskAdopted) Key() string {
	return "adopted from " + string(q.From.Kind) + " " + q.From.String()
}

// AskListings asks to list resources in AWS again if they were last listed before Since.
type AskListings struct{ Since time.Time }

// AskComparison asks to read resources of the stack again that were last read from AWS, or written by this process, before
// Since. For load balancers, target groups, listeners and rules, it also asks to read tags again that were last read before
// TagsSince. The answer is in the observed resources. If other questions ask for attributes, capacity reservations,
// associations with add-ons or targets of type alb, these are also read again. Answers to all other questions are not read
// again.
type AskComparison struct{ Since, TagsSince time.Time }

// AskAttributes asks for the attributes of an existing resource of the stack. Of is "load-balancer", "listener" or
// "target-group". The answer is in the observed resource.
type AskAttributes struct{ Of, ARN string }

// AskState asks for the state of a load balancer that was still being provisioned when it was last read. The answer is in
// the observed load balancer.
type AskState struct{ ARN string }

// Key implements Question.
func (q AskState) Key() string { return "state " + q.ARN }

// AskCapacity asks for the capacity reservation of an existing load balancer.
type AskCapacity struct{ ARN string }

// AskListenerCertificates identifies a read of the additional certificates of a listener, and AskRuleTags a read of the tags
// of all listeners and rules of a load balancer. These questions are never asked, because the facts are always read. Their
// keys are the keys under which failed reads are recorded.
type (
	AskListenerCertificates struct{ ARN string }
	AskRuleTags             struct{ ARN string }
)

// AskSecurityGroups identifies a read of the security groups of the cluster. Like AskRuleTags, it is never asked; its key is
// the key under which a failed read is recorded.
type AskSecurityGroups struct{}

// Key implements Question.
func (q AskListenerCertificates) Key() string { return "listener certificates " + q.ARN }

// Key implements Question.
func (q AskRuleTags) Key() string { return "rule tags " + q.ARN }

// Key implements Question.
func (AskSecurityGroups) Key() string { return "security groups" }

// Key implements Question.
func (AskListings) Key() string { return "listings" }

// Key implements Question.
func (AskComparison) Key() string { return "comparison" }

// Key implements Question.
func (q AskAttributes) Key() string { return "attributes " + q.Of + " " + q.ARN }

// Key implements Question.
func (q AskCapacity) Key() string { return "capacity " + q.ARN }

// Key implements Question. The names and tags are quoted, because members of a stack choose them: a name with a comma is not
// two names, and a name is not a tag.
func (q AskSubnets) Key() string {
	key := "subnets " + string(q.Discover)
	switch c := q.Choice.(type) {
	case SubnetsNamed:
		key += fmt.Sprintf("%q", c.Refs)
	case SubnetsTagged:
		key += fmt.Sprintf("%q", c.Tags)
	}
	if q.NLB {
		key += " of the NLB"
	}
	return key
}

// Key implements Question. The references are quoted, because a reference with a comma is not two references, and all stacks
// share the answers.
func (q AskNamedSecurityGroups) Key() string { return fmt.Sprintf("groups %q", q.List) }

// Key implements Question.
func (AskCertificates) Key() string { return "certificates" }

// Key implements Question.
func (q AskTargetGroup) Key() string { return "targetgroup " + q.Ref }

// Key implements Question.
func (AskBackendSecurityGroup) Key() string { return "backendgroup" }

// Key implements Question.
func (q AskHealth) Key() string { return "health " + q.ARN }

// Questions returns the questions that the plan of the stack needs, without duplicates.
func (s Stack) Questions() []Question {
	var qs []Question
	asked := map[string]bool{}
	add := func(q Question) {
		if key := q.Key(); !asked[key] {
			asked[key] = true
			qs = append(qs, q)
		}
	}
	switch {
	case s.ID.Kind.HasAccelerator():
		for _, m := range slices.Concat(s.Members, s.Leaving) {
			add(AskAccelerator{Recorded: m.Recorded})
		}
	case s.BackendSecurityGroup.Given == "":
		add(AskBackendSecurityGroup{})
	}
	for _, q := range s.Compare {
		add(q)
	}
	if s.LoadBalancer == nil {
		return qs
	}
	if len(s.Certificates) > 0 {
		add(AskOwnCertificates{})
	}
	for _, q := range s.LoadBalancer.questions() {
		add(q)
	}
	if s.FrontendNLB != nil && !s.Held.Frontend {
		for _, q := range s.FrontendNLB.questions() {
			add(q)
		}
	}
	for _, q := range s.LoadBalancer.AddOns.questions() {
		add(q)
	}
	if q := TrustStoreQuestion(s.LoadBalancer.Listeners); len(q.Names) > 0 {
		add(q)
	}
	for _, l := range s.LoadBalancer.Listeners {
		if l.TLS != nil && slices.ContainsFunc(l.TLS.Certificates, func(c CertChoice) bool {
			_, byHost := c.(CertHosts)
			return byHost
		}) {
			add(AskCertificates{})
		}
		for _, a := range l.Default {
			askTargetGroups(a, add)
		}
		for _, r := range l.Rules {
			for _, a := range r.Actions {
				askTargetGroups(a, add)
			}
		}
	}
	// Only names of target groups need a question. Existing rules have ARNs, so ARNs are compared without a question.
	for _, m := range s.Held.Members {
		for _, r := range m.Rules {
			for _, a := range r.Actions {
				askTargetGroups(a, func(q Question) {
					if !strings.HasPrefix(q.(AskTargetGroup).Ref, "arn:") {
						add(q)
					}
				})
			}
		}
	}
	return qs
}

// questions returns the questions about the subnets and the named security groups of the load balancer.
func (lb *LoadBalancer) questions() []Question {
	out := []Question{lb.SubnetQuestion()}
	if g, ok := lb.SecurityGroups.(SecurityGroupsGiven); ok {
		out = append(out, SecurityGroupQuestion(g))
	}
	return out
}

// SubnetQuestion returns the question for the subnets that a choice selects, for a load balancer with a scheme.
func SubnetQuestion(c SubnetChoice, scheme Scheme, nlb bool) AskSubnets {
	out := AskSubnets{Choice: c, NLB: nlb}
	switch c := c.(type) {
	case SubnetsNamed:
		out.Refs = strings.Join(c.Refs, ",")
	case SubnetsTagged:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(c.Tags)) {
			parts = append(parts, k+"="+strings.Join(c.Tags[k], "|"))
		}
		out.Tags = strings.Join(parts, ",")
	default:
		out.Discover, out.Choice = scheme, SubnetsDiscovered{}
	}
	return out
}

// SubnetQuestion returns the question about the subnets of the load balancer.
func (lb *LoadBalancer) SubnetQuestion() AskSubnets {
	return SubnetQuestion(lb.Subnets, lb.Scheme, lb.Type == Network)
}

// SecurityGroupQuestion returns the question for the security groups that g names.
func SecurityGroupQuestion(g SecurityGroupsGiven) AskNamedSecurityGroups {
	return AskNamedSecurityGroups{List: g.Refs}
}

// AskALBTargets asks which load balancers are registered in a target group of type alb.
type AskALBTargets struct{ ARN string }

// Key implements Question.
func (q AskALBTargets) Key() string { return "alb targets " + q.ARN }

func askTargetGroups(a Action, add func(Question)) {
	f, ok := a.(Forward)
	if !ok {
		return
	}
	for _, g := range f.Groups {
		if ref := cmp.Or(g.Group.Name, g.Group.ARN); ref != "" {
			add(AskTargetGroup{Ref: ref})
		}
	}
}

// TrustStoreQuestion returns the question for the trust stores that listeners name. Names is empty if they name none.
func TrustStoreQuestion(ls []Listener) AskTrustStores {
	var names []string
	for _, l := range ls {
		if l.TLS != nil && l.TLS.MutualAuth.HasTrustStoreName() {
			names = append(names, l.TLS.MutualAuth.TrustStore)
		}
	}
	slices.Sort(names)
	return AskTrustStores{Names: slices.Compact(names)}
}
