package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// stepKey identifies a step across the runs of a stack. The steps of two plans are the same step if their operation,
// resource, namespace and content are equal. A step for a listener rule is identified by the rule key instead of the
// address, because the address of a rule changes with its priority.
type stepKey struct {
	operation string // the first word of the step ID: create, modify, ...
	call      string // the kind of call (callKind)
	address   plan.Address
	rule      model.RuleKey
	namespace string // the namespace of the objects; "" if they are in several namespaces
	content   string // a digest of the values that the step writes
	// inKubernetes reports whether the step is a call to the API server.
	inKubernetes bool
}

// stepKeyOf returns the key of step s. stack is the desired state that the plan of the step was made from.
func stepKeyOf(s plan.Step, stack model.Stack) stepKey {
	what, _, _ := strings.Cut(string(s.ID), " ")
	k := stepKey{
		operation: what, call: callKind(s.Do), address: s.Address, rule: s.Rule, namespace: commonNamespace(s.RequestedBy), inKubernetes: plan.WritesToKubernetes(s.Do),
	}
	if !s.Rule.IsZero() {
		k.address = plan.Address{Kind: plan.Rule}
		if r, ok := findRule(stack, s.Rule); ok {
			k.content = ruleDigest(r)
			return k
		}
	}
	switch do := s.Do.(type) {
	case plan.CreateTargetGroup:
		return targetGroupKey(do.Group)
	case plan.SetPriorities:
		// The key has no content: the priorities change with each rule that is added or removed, and AWS does not refuse the
		// step because of the priorities.
	case plan.SetTags:
		k.content = checkpoint.Digest(userTags(do.Put), do.Remove)
	default:
		k.content = checkpoint.Digest(s.Do)
	}
	return k
}

// targetGroupKey returns the key of the step that creates a target group.
func targetGroupKey(g model.TargetGroup) stepKey {
	g.Name = "" // not part of the key: the plan chooses the first free name
	return stepKey{
		operation: "create", call: callKind(plan.CreateTargetGroup{}), address: plan.TargetGroupAddress(g.ID),
		namespace: commonNamespace(g.Members), content: checkpoint.Digest(g),
	}
}

// priorityKeys returns the keys of all steps by which a plan may change the priorities of the rules of listener l.
func priorityKeys(l model.Listener) (out []stepKey) {
	for _, what := range []string{"order", "switch-order", "lower-priorities", "move-replaced-rules"} {
		out = append(out, stepKey{
			operation: what, call: callKind(plan.SetPriorities{}), namespace: commonNamespace(l.Members),
			address: plan.Address{Kind: plan.Listener, ID: naming.ListenerID(l.Port)},
		})
	}
	return out
}

// userTags returns a copy of tags without the reserved tags of the controller, which change when one rule replaces another.
func userTags(tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	maps.DeleteFunc(out, func(k, _ string) bool { return naming.IsReservedTag(k) })
	return out
}

// ruleKeys returns the keys of the steps by which a plan may create or modify rule r of the listener on this port.
func ruleKeys(r model.Rule, port int32) (out []stepKey) {
	content := ruleDigest(r)
	for _, s := range []struct {
		what string
		do   plan.Action
	}{{"create", plan.CreateRule{}}, {"modify", plan.ModifyRule{}}, {"switch", plan.ModifyRule{}}} {
		out = append(out, stepKey{
			operation: s.what, call: callKind(s.do), address: plan.Address{Kind: plan.Rule}, rule: r.Key(port),
			namespace: r.Member.Namespace, content: content,
		})
	}
	return out
}

// ruleDigest returns a digest of the content of a rule. The digest does not depend on the priority of the rule.
func ruleDigest(r model.Rule) string {
	return checkpoint.Digest(r.Conditions, r.PlaceholderConditions, r.Actions, r.Transforms, r.Tags, r.Held, r.InPlace)
}

// findRule returns the rule of a stack with the key, and whether there is one.
func findRule(stack model.Stack, key model.RuleKey) (model.Rule, bool) {
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

// callKind returns the kind of call of an action: its type without the package, such as "CreateRule". A SetTags without tags
// to set is "RemoveTags".
func callKind(do plan.Action) string {
	if t, ok := do.(plan.SetTags); ok && len(t.Put) == 0 {
		return "RemoveTags"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", do), "plan.")
}

// scope identifies the steps of a stack that AWS refuses for the same reason, such as a missing permission.
type scope struct {
	class failure.Class
	call  string            // the kind of call; "" for all kinds
	kind  plan.ResourceKind // the kind of resource that a quota counts; "" for refusals of other classes
	// namespace is the namespace of the steps; "" for the steps of the whole stack.
	namespace string
	// closes reports whether the refusal of one step delays the other steps of the scope. If it is false, the scope only
	// limits the number of refused calls.
	closes bool
}

// maxTokens returns the capacity of the token bucket that limits calls in the scope.
func (sc scope) maxTokens() float64 {
	if sc.closes {
		return newStepsInClosedScope
	}
	return refusedValuesBudget
}

// refillInterval returns the time in which the token bucket of the scope gains one token.
func (sc scope) refillInterval() time.Duration {
	if sc.closes {
		return durations.LongestTransientBackOff
	}
	return durations.ShortWait
}

// countsAllNamespaces reports whether the scope is a quota that counts the resources of all namespaces, so that any step of
// the scope may use quota that has become free.
func (sc scope) countsAllNamespaces() bool { return sc.class == failure.Quota && sc.namespace == "" }

// scopes returns the scopes of a step, in the order of failureScope: permission, quota of the stack, quota of the
// namespace, refused values.
func (k stepKey) scopes() []scope {
	if k.inKubernetes {
		return nil
	}
	// Steps of several namespaces have "/" as their namespace, so that their scope is not that of the quota of the stack.
	namespace := cmp.Or(k.namespace, "/")
	return []scope{
		{class: failure.Denied, call: k.call, namespace: k.namespace, closes: true},
		{class: failure.Quota, call: k.call, kind: k.address.Kind, closes: true},
		{class: failure.Quota, call: k.call, kind: k.address.Kind, namespace: namespace, closes: true},
		k.refusedValuesScope(),
	}
}

// refusedValuesScope returns the scope of refused values. Each namespace has one scope. For steps of several namespaces,
// each kind of call and resource has its own scope, so that repeated changes of one shared setting do not use up the budget
// of all settings.
func (k stepKey) refusedValuesScope() scope {
	if k.namespace == "" {
		return scope{class: failure.Invalid, call: k.call, kind: k.address.Kind}
	}
	return scope{class: failure.Invalid, namespace: k.namespace}
}

// failureScope returns the scope with the steps that AWS probably refuses for the same reason as step k. It returns false if
// there is no such scope. f is the failure of step k.
func (k stepKey) failureScope(f FailedStep) (scope, bool) {
	if k.inKubernetes {
		return scope{}, false
	}
	all := k.scopes()
	switch f.Class {
	case failure.Denied:
		return all[0], true
	case failure.Quota:
		// Such a quota counts only what this step adds, so steps of other namespaces are not affected.
		if perStepQuotas[errorCode(f.Err)] {
			return all[2], true
		}
		return all[1], f.Step.Verb == plan.Create
	case failure.Invalid, failure.Unknown:
		return all[3], true
	}
	return scope{}, false
}

// perStepQuotas are the error codes of quotas that count what one step adds to a resource, such as tags, and not created
// resources.
var perStepQuotas = map[string]bool{
	"TooManyUniqueTargetGroupsPerLoadBalancer": true, "TargetGroupAssociationLimit": true,
	"TooManyTags": true, "TagLimitExceeded": true, "TooManyTargets": true, "TooManyRegistrationsForTargetId": true,
}

// errorCode returns the AWS error code of err, or "" if err is not an error that AWS returned.
func errorCode(err error) string {
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return ""
}

// freedKinds returns the kinds of resources that a step deletes, so that their quota has capacity again.
func (k stepKey) freedKinds() []plan.ResourceKind {
	switch {
	case !strings.HasPrefix(k.call, "Delete") || k.inKubernetes:
		return nil
	case k.address.Kind == plan.Listener:
		return []plan.ResourceKind{plan.Listener, plan.Rule}
	}
	return []plan.ResourceKind{k.address.Kind}
}
