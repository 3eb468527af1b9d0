package handover

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// RelationKind is the kind of the relation between a stack and another stack that has, had or requests the same load
// balancer.
type RelationKind int

// The kinds of relations, from the view of this stack.
const (
	// Unrelated means that there is no other stack.
	Unrelated RelationKind = iota
	// HasOwnLoadBalancer means that this stack, a Gateway, requests the load balancer of the other stack, but already has
	// another load balancer and retains it.
	HasOwnLoadBalancer
	// TakeOverNotAllowed means that ObjectObstacles returns findings that prevent the take-over. The resources of the other
	// stack are not read.
	TakeOverNotAllowed
	// TakesOver means that this stack takes over the resources of the other stack.
	TakesOver
	// HandedOver means that the other stack has taken over the resources of this stack. This stack changes nothing except
	// that it removes the finalizers of objects that leave it.
	HandedOver
	// Withheld is like HandedOver, but the other stack does not request the load balancer any more. The other stack retains
	// the load balancer, because this stack may not take it back.
	Withheld
	// GivesBack means that the other stack takes back the resources of this stack. This stack changes nothing until all
	// resources are taken back.
	GivesBack
	// Returned means that the other stack has taken back all resources. This stack removes its finalizers.
	Returned
)

// Relation is the relation of a stack to another stack. It follows from the objects in Kubernetes and from the tags in AWS.
// There is no other record of a handover.
type Relation struct {
	Kind  RelationKind
	Other model.StackID
	// OtherStack is the desired state of the other stack.
	OtherStack model.Stack
	// TagsMissing is set if the load balancer was taken over, but a controller without support for adoption has removed the
	// tags that record this. These tags are written again.
	TagsMissing bool
}

// Translator returns the desired state of another stack; false if the controller does not manage stacks of this kind.
type Translator func(id model.StackID) (model.Stack, bool, error)

// StatusDNSName returns the DNS name of the load balancer in the status of an object.
type StatusDNSName func(finding.Ref) string

// Relate determines the relation of a stack to another stack. shown returns the DNS names in the status of objects.
func Relate(stack model.Stack, have observed.Stack, translate Translator, shown StatusDNSName) (Relation, error) {
	live := have.LiveLoadBalancer(model.LoadBalancerID)
	from, adopted := PreviousStack(live)
	adopted = adopted && stack.ID != from && HasTagsOfStack(stack.ID, live)
	if by := have.Facts.Adopter; by != nil && !by.NotTagged {
		return relateToAdopter(stack, *by, translate)
	} else if by != nil {
		if rel, err := relateToAdopterWithoutTags(stack, live, *by, translate, shown); err != nil || rel.Kind != Unrelated {
			return rel, err
		}
	}
	if stack.IsEmpty() && stack.Held.AllResources {
		return Relation{}, nil // the desired state is unknown, so that the whole stack is held
	}
	switch requests := stack.Adopts != nil && !stack.IsEmpty(); {
	case adopted && (!requests || stack.DryRun || stack.Adopts.From != from):
		return relateToPrevious(from, live, translate)
	case requests && !adopted && HasTagsOfStack(stack.ID, live):
		return relateWithoutTags(stack, live, translate, shown)
	case requests:
		out := Relation{Other: stack.Adopts.From, Kind: TakesOver}
		switch {
		case adopted:
			return out, nil
		case stack.DryRun && hasFinalizer(stack):
			out.Kind = Returned // the Gateway has no load balancer, so the other stack has taken it back
			return out, nil
		}
		other, on, err := translate(out.Other)
		out.OtherStack = other
		if !on {
			out.OtherStack.ID = out.Other
		}
		if err == nil && len(ObjectObstacles(stack, out.OtherStack)) > 0 {
			out.Kind = TakeOverNotAllowed
		}
		return out, err
	}
	return Relation{}, nil
}

// relateToAdopter returns the relation of a stack to the Gateway that has taken over its load balancer. The Gateway retains
// the load balancer as long as it requests it. The request continues if the feature gate or the class is missing.
func relateToAdopter(stack model.Stack, by observed.Adopter, translate Translator) (Relation, error) {
	out := Relation{Other: by.Stack, Kind: HandedOver}
	gateway, on, err := translate(by.Stack)
	if err != nil || !on {
		return out, err
	}
	out.OtherStack = gateway
	keeps := gateway.Held.AllResources && gateway.IsEmpty() || gateway.Adopts != nil && gateway.Adopts.From == stack.ID && !gateway.DryRun && !gateway.IsEmpty()
	switch {
	case keeps || stack.IsEmpty():
	case mayTakeBack(&by.LoadBalancer, stack):
		out.Kind = TakesOver
	default:
		out.Kind = Withheld
	}
	return out, nil
}

// relateToPrevious returns the relation of a Gateway to the stack from which it has taken over a load balancer that it does
// not request any more. The previous stack takes the load balancer back. If it does not exist or may not take the load
// balancer back, the Gateway retains the load balancer and completes the take-over.
func relateToPrevious(from model.StackID, live *observed.LoadBalancer, translate Translator) (Relation, error) {
	previous, on, err := translate(from)
	switch {
	case err != nil || !on:
		return Relation{}, err
	case previous.IsEmpty() && previous.Held.AllResources, !previous.IsEmpty() && mayTakeBack(live, previous):
		return Relation{Other: from, OtherStack: previous, Kind: GivesBack}, nil
	case naming.HasStackTags(from, live.Tags):
		return Relation{Other: from, OtherStack: previous, Kind: TakesOver}, nil
	}
	return Relation{}, nil
}

// mayTakeBack reports whether a stack may take back the load balancer that a Gateway has taken over. This is allowed if the
// stack has a member in a namespace that had a member at the take-over. Any user may create an Ingress in an IngressGroup
// whose members were deleted. This user must not get a load balancer to which clients of the previous members still send
// requests.
func mayTakeBack(lb *observed.LoadBalancer, stack model.Stack) bool {
	namespaces := naming.AdoptedNamespaces(lb.Tags)
	return slices.ContainsFunc(stack.Members, func(m model.Member) bool { return slices.Contains(namespaces, m.Ref.Namespace) })
}

// adoption returns the adoption that a Gateway requests, with the namespaces that had members at the take-over; nil if the
// Gateway requests another load balancer now. These namespaces are determined once, when the take-over begins.
func (rel Relation) adoption(requested *model.Adoption, live *observed.LoadBalancer) *model.Adoption {
	if requested == nil || requested.From != rel.Other {
		return nil
	}
	out := *requested
	if from, ok := PreviousStack(live); ok && from == rel.Other {
		out.Namespaces = naming.AdoptedNamespaces(live.Tags)
		return &out
	}
	for _, m := range rel.OtherStack.Members {
		out.Namespaces = append(out.Namespaces, m.Ref.Namespace)
	}
	return &out
}

// hasFinalizer reports whether at least one member of a stack has the finalizer of the stack.
func hasFinalizer(stack model.Stack) bool {
	return slices.ContainsFunc(stack.Members, func(m model.Member) bool { return m.Claimed })
}

// Questions returns the given questions of a stack. If the stack takes over resources, it adds the question for the
// resources of the other stack.
func (rel Relation) Questions(questions []model.Question) []model.Question {
	if rel.Kind != TakesOver {
		return questions
	}
	return append(slices.Clone(questions), model.AskAdopted{From: rel.Other})
}

// AdjustObserved returns the observed state with or without the resources of the other stack, depending on the kind of the
// relation. others are the bindings of the other stack. port returns the number of the Service port of a binding.
func (rel Relation) AdjustObserved(stack model.Stack, have observed.Stack, others []observed.Binding, port func(model.Binding) string) observed.Stack {
	switch rel.Kind {
	case TakesOver:
		have.Bindings = withoutDuplicateBindings(append(slices.Clone(have.Bindings), others...))
		return AssignResourceIDs(stack, have, port)
	case HandedOver, Withheld:
		return withoutResourcesOf(have, rel.Other)
	}
	return have
}

// withoutDuplicateBindings removes duplicate bindings from a list, in place. A binding with the labels of both stacks is
// listed twice.
func withoutDuplicateBindings(all []observed.Binding) []observed.Binding {
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(all, func(b observed.Binding) bool {
		key := [2]string{b.Namespace, b.Name}
		duplicate := seen[key]
		seen[key] = true
		return duplicate
	})
}

// AdjustDesired returns the desired state of a stack, adapted to the kind of the relation, and the findings about the
// relation.
func (rel Relation) AdjustDesired(stack model.Stack, have observed.Stack) (model.Stack, finding.List) {
	if stack.DryRun && rel.Kind != Returned && hasFinalizer(stack) {
		// The stack has a load balancer that no other stack takes back. In dry run, resources that members may not use any
		// more would not be removed. Therefore dry run has no effect.
		stack.DryRun = false
	}
	report := func(reason finding.Reason, message, fix string) (out finding.List) {
		for _, m := range append(slices.Clone(stack.Members), stack.Leaving...) {
			out.Add(finding.Finding{Object: m.Ref, Reason: reason, Message: message, Fix: fix})
		}
		return out
	}
	other := rel.Other.Title()
	switch rel.Kind {
	case HasOwnLoadBalancer:
		f := refusal(stack, "the Gateway already has a load balancer, which is kept",
			"remove the annotation to keep it; or, once no event of "+other+" reports an error, delete the Gateway, and its load balancer with it, "+
				"and apply the Gateway again with the annotation")
		f.Blocks = finding.BlocksNothing
		return stack, finding.List{f}
	case HandedOver:
		stack.Held.AllResources = !stack.IsEmpty() || !isEmpty(have)
		return stack, report(finding.LoadBalancerAdopted, other+" has taken over the load balancer; edits of this object have no effect",
			"edit the routes of the Gateway, or have its owner annotate it with "+naming.DryRunAnnotation+`: "true" to get the load balancer back`)
	case Withheld:
		stack.Held.AllResources = true
		return stack, report(finding.LoadBalancerAdopted, other+" retains the load balancer that it has taken over, because no member of "+stack.ID.Title()+
			" is in a namespace that had a member at the take-over; "+stack.ID.Title()+" gets a load balancer of its own", "wait")
	case GivesBack:
		stack.Held.AllResources, stack.DryRun = true, false
		if rel.OtherStack.Held.AllResources {
			return stack, report(finding.LoadBalancerReturned, other+" cannot take its load balancer back until its errors are corrected; the Gateway stays unchanged in AWS",
				"correct the errors in the events of the objects of "+other+", delete these objects, or restore annotation "+naming.AdoptAnnotation+" of the Gateway")
		}
		return stack, report(finding.LoadBalancerReturned, other+" takes its load balancer back; the Gateway stays unchanged in AWS until then", "wait")
	case Returned:
		backend := stack.BackendSecurityGroup
		backend.Needed = false // the stack whose load balancer is deleted last deletes the security group
		return model.Stack{
			ID: stack.ID, Leaving: append(slices.Clone(stack.Members), stack.Leaving...), BackendSecurityGroup: backend, Adopts: stack.Adopts,
		}, nil
	case TakesOver:
		stack.Adopts = rel.adoption(stack.Adopts, have.LiveLoadBalancer(model.LoadBalancerID))
		if stack.Adopts == nil && !stack.ID.Kind.IsGateway() {
			return stack, report(finding.LoadBalancerReturned, "the load balancer is taken back from "+other+"; edits of this object take effect", "wait")
		}
		if stack.Adopts != nil && !stack.DryRun && HasTagsOfStack(stack.ID, have.LiveLoadBalancer(model.LoadBalancerID)) && !hasResourceOf(rel.Other, have) {
			return stack, finding.List{{
				Object: stack.Adopts.At.Object, Field: stack.Adopts.At.Field, Reason: finding.LoadBalancerAdopted,
				Message: "the Gateway has taken over the load balancer of " + other,
				Fix:     "see fulcrum migrate status for the next step, or annotate the Gateway with " + naming.DryRunAnnotation + `: "true" to give it back`,
			}}
		}
	}
	return stack, nil
}

// IsWaitingForOther reports whether the stack changes nothing until the other stack has made its changes.
func (rel Relation) IsWaitingForOther(stack model.Stack) bool {
	switch rel.Kind {
	case GivesBack, Withheld:
		return true
	case TakesOver:
		return rel.TagsMissing
	case HandedOver:
		return rel.TagsMissing || stack.IsEmpty() && stack.Held.AllResources
	}
	return false
}

// DependsOnOther reports whether the next run depends on the desired state of the other stack. This is the case while a load
// balancer is handed over, or while the other stack has the load balancer.
func (rel Relation) DependsOnOther(have observed.Stack) bool {
	switch rel.Kind {
	case Unrelated, HasOwnLoadBalancer, TakeOverNotAllowed:
		return false
	case TakesOver:
		return rel.TagsMissing || hasResourceOf(rel.Other, have)
	}
	return true
}

// hasResourceOf reports whether a resource has the tags of a stack. The labels of bindings are not trusted, because tenants
// can write them.
func hasResourceOf(id model.StackID, have observed.Stack) bool {
	return slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return naming.HasStackTags(id, lb.Tags) }) ||
		slices.ContainsFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return naming.HasStackTags(id, g.Tags) }) ||
		slices.ContainsFunc(have.SecurityGroups, func(g observed.SecurityGroup) bool { return naming.HasStackTags(id, g.Tags) })
}

// IsBeforeTakeOver reports whether a take-over has not begun yet. In this case, the load balancer does not have the tags of
// the stack yet.
func (rel Relation) IsBeforeTakeOver(stack model.Stack, have observed.Stack) bool {
	return rel.Kind == TakesOver && stack.Adopts != nil && !HasTagsOfStack(stack.ID, have.LiveLoadBalancer(model.LoadBalancerID))
}
