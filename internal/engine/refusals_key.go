package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// stepKey identifies a step over runs: what it does, to what, for whose objects, and a digest of its
// content. A step for a rule is identified by the rule, as its address moves with its priority.
type stepKey struct {
	what    string // the operation: create, modify, ...
	do      string // the kind of call
	address plan.Address
	rule    model.RuleKey
	tenant  string
	content string
}

// keyOf identifies a step of a plan for a stack.
func keyOf(s plan.Step, stack model.Stack) stepKey {
	what, _, _ := strings.Cut(string(s.ID), " ")
	k := stepKey{what: what, do: kindOf(s.Do), address: s.Address, rule: s.Rule, tenant: tenant(s.Blames)}
	if !s.Rule.IsZero() {
		k.address = plan.Address{Kind: plan.Rule}
		if r, ok := ruleOf(stack, s.Rule); ok {
			k.content = contentOf(r)
			return k
		}
	}
	switch do := s.Do.(type) {
	case plan.CreateTargetGroup:
		return groupKey(do.Group)
	case plan.SetPriorities:
		// The order is not refused for its numbers, which change with every rule that comes or goes.
	case plan.SetTags:
		k.content = checkpoint.Digest(userTags(do.Put), do.Remove)
	default:
		k.content = checkpoint.Digest(s.Do)
	}
	return k
}

// groupKey identifies the step that makes a target group.
func groupKey(g model.TargetGroup) stepKey {
	g.Name = "" // the plan takes the first one that is free
	return stepKey{
		what: "create", do: kindOf(plan.CreateTargetGroup{}), address: plan.TargetGroupAddress(g.ID),
		tenant: tenant(g.Members), content: checkpoint.Digest(g),
	}
}

// orderKeys identify the steps that move the rules of a listener.
func orderKeys(l model.Listener) (out []stepKey) {
	for _, what := range []string{"order", "switch-order", "room", "vacate"} {
		out = append(out, stepKey{
			what: what, do: kindOf(plan.SetPriorities{}), tenant: tenant(l.Members),
			address: plan.Address{Kind: plan.Listener, ID: naming.ListenerID(l.Port)},
		})
	}
	return out
}

// userTags returns the tags without those that track the resource, which change with the places of others.
func userTags(tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	maps.DeleteFunc(out, func(k, _ string) bool { return naming.ReservedTag(k) })
	return out
}

// ruleKeys identify the steps that may be made for a rule.
func ruleKeys(r model.Rule, port int32) (out []stepKey) {
	content := contentOf(r)
	for _, s := range []struct {
		what string
		do   plan.Action
	}{{"create", plan.CreateRule{}}, {"modify", plan.ModifyRule{}}, {"switch", plan.ModifyRule{}}} {
		out = append(out, stepKey{
			what: s.what, do: kindOf(s.do), address: plan.Address{Kind: plan.Rule}, rule: r.Key(port),
			tenant: r.Member.Namespace, content: content,
		})
	}
	return out
}

// contentOf returns a digest of all that AWS is given of a rule.
func contentOf(r model.Rule) string {
	return checkpoint.Digest(r.Conditions, r.Instead, r.Actions, r.Transforms, r.Tags, r.Held, r.InPlace)
}

func ruleOf(stack model.Stack, key model.RuleKey) (model.Rule, bool) {
	if stack.LoadBalancer == nil {
		return model.Rule{}, false
	}
	for _, l := range stack.LoadBalancer.Listeners {
		if l.Port != key.Port {
			continue
		}
		for _, r := range l.Rules {
			if r.Key(l.Port) == key {
				return r, true
			}
		}
	}
	return model.Rule{}, false
}

// kindOf returns the kind of call that an action makes.
func kindOf(do plan.Action) string {
	if t, ok := do.(plan.SetTags); ok && len(t.Put) == 0 {
		return "RemoveTags"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", do), "plan.")
}

// scope is a set of steps that AWS refuses for one reason.
type scope struct {
	class Class
	do    string            // the kind of call; "" for all
	kind  plan.ResourceKind // of what a quota counts
	// tenant is the namespace whose steps they are; "" for those of the stack.
	tenant string
	closes bool // the first refusal puts the others off
}

// maxTokens returns how many tokens a scope has at most, and every when there is one more.
func (sc scope) maxTokens() float64 {
	if sc.closes {
		return newInClosed
	}
	return refusedAtOnce
}

func (sc scope) refillInterval() time.Duration {
	if sc.closes {
		return durations.DeniedWait
	}
	return durations.ShortWait
}

// countsAll reports whether AWS counts all that the steps of the scope make, so that any of them may have the next
// place.
func (sc scope) countsAll() bool { return sc.class == Quota && sc.tenant == "" }

// scopes returns the scopes for which a step may be skipped.
func (k stepKey) scopes() []scope {
	if k.inKubernetes() {
		return nil
	}
	return []scope{
		{class: Denied, do: k.do, tenant: k.tenant, closes: true},
		{class: Quota, do: k.do, kind: k.address.Kind, closes: true},
		{class: Quota, do: k.do, kind: k.address.Kind, tenant: tenantOrStack(k.tenant), closes: true},
		k.values(),
	}
}

// values returns the scope of refused values. What concerns several namespaces has one for each kind of
// call, so that one who changes a setting of all again and again does not use up those of the others.
func (k stepKey) values() scope {
	if k.tenant == "" {
		return scope{class: Invalid, do: k.do, kind: k.address.Kind}
	}
	return scope{class: Invalid, tenant: k.tenant}
}

// tenantOrStack keeps the scopes of a namespace apart from those of all.
func tenantOrStack(tenant string) string {
	if tenant == "" {
		return "/"
	}
	return tenant
}

func (k stepKey) inKubernetes() bool {
	return slices.Contains([]string{"ClaimFinalizer", "ReleaseFinalizer", "PutBinding", "DeleteBinding", "RecordAccelerator"}, k.do)
}

// scope returns the one that the failure of a step belongs to, if it has any.
func (k stepKey) scope(f FailedStep) (scope, bool) {
	if k.inKubernetes() {
		return scope{}, false
	}
	all := k.scopes()
	switch f.Class {
	case Denied:
		return all[0], true
	case Quota:
		// A quota of what only this step needs says nothing about others.
		if perStep[codeOf(f.Err)] {
			return all[2], true
		}
		return all[1], f.Step.Verb == plan.Create
	case Invalid, Unknown:
		return all[3], true
	}
	return scope{}, false
}

// perStep are the codes of quotas that count what one step brings along, not what it makes.
var perStep = map[string]bool{
	"TooManyUniqueTargetGroupsPerLoadBalancer": true, "TargetGroupAssociationLimit": true,
	"TooManyTags": true, "TagLimitExceeded": true, "TooManyTargets": true, "TooManyRegistrationsForTargetId": true,
}

// codeOf returns the code that AWS gave an error, "" if it is none of AWS's.
func codeOf(err error) string {
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return ""
}

// freedKinds returns the kinds of resources of which a step makes room at a quota.
func (k stepKey) freedKinds() []plan.ResourceKind {
	switch {
	case !strings.HasPrefix(k.do, "Delete") || k.inKubernetes():
		return nil
	case k.address.Kind == plan.Listener:
		return []plan.ResourceKind{plan.Listener, plan.Rule}
	}
	return []plan.ResourceKind{k.address.Kind}
}
