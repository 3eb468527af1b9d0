package handover

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Standing is the relation of a stack to another one that has, or had, its load balancer.
type Standing int

// The standings.
const (
	Alone Standing = iota
	// HasOwn: a Gateway that asks for the load balancer of the other stack has one of its own, and keeps it.
	HasOwn
	// NotAllowed: the objects of both do not allow that this one takes what the other has. Nothing of that is looked at.
	NotAllowed
	// Takes: what the other stack has is this one's now.
	Takes
	// Handed: the other stack has what this one had. Only finalizers are removed from objects that leave.
	Handed
	// Withheld: as Handed, and the other stack does not ask for it any more. It keeps it, as this one may not have it back.
	Withheld
	// Gives: the other stack takes back what this one has. Until then nothing is changed.
	Gives
	// Returned: the other stack has taken back all, and the object is to give up its finalizer.
	Returned
)

// Relation is the relation of the stack of a run to another one, by what Kubernetes asks for and by the tags in AWS.
// Nothing else records how far a load balancer is handed over.
type Relation struct {
	Standing Standing
	Other    model.StackID
	// OtherStack is the desired state of the other stack.
	OtherStack model.Stack
	// TagsMissing: the load balancer was taken over, but a controller that does not know the tags which record that
	// has removed them. They are written again.
	TagsMissing bool
}

// Translator is the translation of another stack; false if stacks of its kind are switched off.
type Translator func(id model.StackID) (model.Stack, bool, error)

// ShownName returns the DNS name of the load balancer that the status of an object shows.
type ShownName func(finding.Ref) string

// Relate decides the relation of a stack to another one.
func Relate(stack model.Stack, have observed.Stack, translate Translator, shown ShownName) (Relation, error) {
	live := have.Live(model.LoadBalancerID)
	from, adopted := PreviousStack(live)
	adopted = adopted && stack.ID != from && Claimed(stack.ID, live)
	if by := have.Facts.Adopter; by != nil && !by.Unmarked {
		return relateToAdopter(stack, *by, translate)
	} else if by != nil {
		if rel, err := relateToUnmarked(stack, live, *by, translate, shown); err != nil || rel.Standing != Alone {
			return rel, err
		}
	}
	if stack.Empty() && stack.Held.Everything {
		return Relation{}, nil // it is not known what it asks for, and nothing of it is changed
	}
	switch asks := stack.Adopts != nil && !stack.Empty(); {
	case adopted && (!asks || stack.DryRun || stack.Adopts.From != from):
		return relateToPrevious(from, live, translate)
	case asks && !adopted && Claimed(stack.ID, live):
		return relateUnmarked(stack, live, translate, shown)
	case asks:
		out := Relation{Other: stack.Adopts.From, Standing: Takes}
		switch {
		case adopted:
			return out, nil
		case stack.DryRun && claimed(stack):
			out.Standing = Returned // it has nothing, so the other one has it back
			return out, nil
		}
		of, on, err := translate(out.Other)
		out.OtherStack = of
		if !on {
			out.OtherStack.ID = out.Other
		}
		if err == nil && len(ofObjects(stack, out.OtherStack)) > 0 {
			out.Standing = NotAllowed
		}
		return out, err
	}
	return Relation{}, nil
}

// toAdopter is for a stack whose load balancer a Gateway has. That keeps it as long as it asks for it. What is missing, a
// feature gate or a class, is no withdrawal.
func relateToAdopter(stack model.Stack, by observed.Adopter, translate Translator) (Relation, error) {
	out := Relation{Other: by.Stack, Standing: Handed}
	of, on, err := translate(by.Stack)
	if err != nil || !on {
		return out, err
	}
	out.OtherStack = of
	keeps := of.Held.Everything && of.Empty() || of.Adopts != nil && of.Adopts.From == stack.ID && !of.DryRun && !of.Empty()
	switch {
	case keeps || stack.Empty():
	case mayReturn(&by.LoadBalancer, stack):
		out.Standing = Takes
	default:
		out.Standing = Withheld
	}
	return out, nil
}

// returnToFirst is for a Gateway that does not ask any more for what it has taken over: the stack that had it first
// takes it back. If nothing of that is left, or it may not have it, the Gateway keeps it, and finishes what it has
// begun.
func relateToPrevious(from model.StackID, live *observed.LoadBalancer, translate Translator) (Relation, error) {
	of, on, err := translate(from)
	switch {
	case err != nil || !on:
		return Relation{}, err
	case of.Empty() && of.Held.Everything, !of.Empty() && mayReturn(live, of):
		return Relation{Other: from, OtherStack: of, Standing: Gives}, nil
	case naming.HasStackTags(from, live.Tags):
		return Relation{Other: from, OtherStack: of, Standing: Takes}, nil
	}
	return Relation{}, nil
}

// mayReturn reports whether a stack may have back what a Gateway has taken over. Everyone may join an IngressGroup
// whose members are gone, and must not get with it what clients know. So a member has to be of a namespace that had
// one when it was taken over.
func mayReturn(lb *observed.LoadBalancer, stack model.Stack) bool {
	namespaces := naming.AdoptedNamespaces(lb.Tags)
	return slices.ContainsFunc(stack.Members, func(m model.Member) bool { return slices.Contains(namespaces, m.Ref.Namespace) })
}

// adoption returns what a Gateway asks for that takes over what the other stack has, nil if it asks for something else
// meanwhile. Which namespaces had it is decided once, when it is taken over.
func (rel Relation) adoption(asks *model.Adoption, live *observed.LoadBalancer) *model.Adoption {
	if asks == nil || asks.From != rel.Other {
		return nil
	}
	out := *asks
	if from, ok := PreviousStack(live); ok && from == rel.Other {
		out.Namespaces = naming.AdoptedNamespaces(live.Tags)
		return &out
	}
	for _, m := range rel.OtherStack.Members {
		out.Namespaces = append(out.Namespaces, m.Ref.Namespace)
	}
	return &out
}

func claimed(stack model.Stack) bool {
	return slices.ContainsFunc(stack.Members, func(m model.Member) bool { return m.Claimed })
}

// Questions adds the question for what the other stack has to the questions of a stack.
func (rel Relation) Questions(questions []model.Question) []model.Question {
	if rel.Standing != Takes {
		return questions
	}
	return append(slices.Clone(questions), model.AskAdopted{From: rel.Other})
}

// ObservedStack returns the observed state with or without what the other stack has, depending on the standing.
// others are the bindings of the other stack, and port returns the number of a port of a Service.
func (rel Relation) ObservedStack(stack model.Stack, have observed.Stack, others []observed.Binding, port func(model.Binding) string) observed.Stack {
	switch rel.Standing {
	case Takes:
		have.Bindings = withoutDuplicates(append(slices.Clone(have.Bindings), others...))
		return Assign(stack, have, port)
	case Handed, Withheld:
		return notTakenOver(have, rel.Other)
	}
	return have
}

// withoutDuplicates leaves out bindings that carry the labels of both stacks a second time.
func withoutDuplicates(all []observed.Binding) []observed.Binding {
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(all, func(b observed.Binding) bool {
		key := [2]string{b.Namespace, b.Name}
		was := seen[key]
		seen[key] = true
		return was
	})
}

// Apply returns a stack as it is carried out while another one has its load balancer, with what is to be reported of it.
func (rel Relation) Apply(stack model.Stack, have observed.Stack) (model.Stack, finding.List) {
	if stack.DryRun && rel.Standing != Returned && claimed(stack) {
		// It has a load balancer that no other stack takes back, and what is not carried out withdraws no right.
		stack.DryRun = false
	}
	report := func(reason finding.Reason, message, fix string) (out finding.List) {
		for _, m := range append(slices.Clone(stack.Members), stack.Leaving...) {
			out.Add(finding.Finding{Object: m.Ref, Reason: reason, Message: message, Fix: fix})
		}
		return out
	}
	other := rel.Other.Title()
	switch rel.Standing {
	case HasOwn:
		f := Refusal(stack, "the Gateway has one of its own, which is kept",
			"remove the annotation to keep it; or, once no event of "+other+" reports an error, delete the Gateway, and its load balancer with it, "+
				"and apply the Gateway again with the annotation")
		f.Blocks = finding.BlocksNothing
		return stack, finding.List{f}
	case Handed:
		stack.Held.Everything = !stack.Empty() || !isEmpty(have)
		return stack, report(finding.LoadBalancerAdopted, other+" has taken over the load balancer; edits of this object have no effect",
			"edit the routes of the Gateway, or have its owner annotate it with "+naming.DryRunAnnotation+`: "true" to get the load balancer back`)
	case Withheld:
		stack.Held.Everything = true
		return stack, report(finding.LoadBalancerAdopted, other+" keeps the load balancer that it has taken over, because no member of "+stack.ID.Title()+
			" is in a namespace that had one when it was taken over; "+stack.ID.Title()+" gets a load balancer of its own", "wait")
	case Gives:
		stack.Held.Everything, stack.DryRun = true, false
		if rel.OtherStack.Held.Everything {
			return stack, report(finding.LoadBalancerReturned, other+" is to take its load balancer back, and cannot be built; the Gateway stays as it is live",
				"correct its objects as their events report, delete them, or restore the annotation of the Gateway")
		}
		return stack, report(finding.LoadBalancerReturned, other+" takes its load balancer back; the Gateway stays as it is live until then", "wait")
	case Returned:
		backend := stack.BackendGroup
		backend.Needed = false // the last one that leaves deletes it
		return model.Stack{
			ID: stack.ID, Leaving: append(slices.Clone(stack.Members), stack.Leaving...), BackendGroup: backend, Adopts: stack.Adopts,
		}, nil
	case Takes:
		stack.Adopts = rel.adoption(stack.Adopts, have.Live(model.LoadBalancerID))
		if stack.Adopts == nil && !stack.ID.Kind.OfGateway() {
			return stack, report(finding.LoadBalancerReturned, "the load balancer is taken back from "+other+"; edits of this object take effect", "wait")
		}
		if stack.Adopts != nil && !stack.DryRun && Claimed(stack.ID, have.Live(model.LoadBalancerID)) && !isUnfinished(rel.Other, have) {
			return stack, finding.List{{
				Object: stack.Adopts.At.Object, Field: stack.Adopts.At.Field, Reason: finding.LoadBalancerAdopted,
				Message: "it has taken over the load balancer of " + other,
				Fix:     "see fulcrum migrate status for the next step, or annotate the Gateway with " + naming.DryRunAnnotation + `: "true" to give it back`,
			}}
		}
	}
	return stack, nil
}

// Waits reports whether a stack waits for what the other one does.
func (rel Relation) Waits(stack model.Stack) bool {
	switch rel.Standing {
	case Gives, Withheld:
		return true
	case Takes:
		return rel.TagsMissing
	case Handed:
		return rel.TagsMissing || stack.Empty() && stack.Held.Everything
	}
	return false
}

// DependsOnOther reports whether what the other stack asks for decides about the next run: a load balancer is being handed
// over, or the other one has it.
func (rel Relation) DependsOnOther(have observed.Stack) bool {
	switch rel.Standing {
	case Alone, HasOwn, NotAllowed:
		return false
	case Takes:
		return rel.TagsMissing || isUnfinished(rel.Other, have)
	}
	return true
}

// isUnfinished reports whether something carries the tags of a stack. Labels of bindings prove nothing, as tenants may
// write them.
func isUnfinished(id model.StackID, have observed.Stack) bool {
	return slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return naming.HasStackTags(id, lb.Tags) }) ||
		slices.ContainsFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return naming.HasStackTags(id, g.Tags) }) ||
		slices.ContainsFunc(have.SecurityGroups, func(g observed.SecurityGroup) bool { return naming.HasStackTags(id, g.Tags) })
}

// Begins reports whether a stack takes over for the first time what another one has: nothing carries its tags yet.
func (rel Relation) Begins(stack model.Stack, have observed.Stack) bool {
	return rel.Standing == Takes && stack.Adopts != nil && !Claimed(stack.ID, have.Live(model.LoadBalancerID))
}
