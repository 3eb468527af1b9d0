package elbv2

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const maxPriority = 50000

// newRuleARN returns the ARN of a new rule.
func (s *listeners) newRuleARN(p *store.Partition, lb *store.LoadBalancer, l *store.Listener) string {
	return newARN(p, fmt.Sprintf("listener-rule/%s/%s/%s/%s/%s", shortType(lb), lb.Name, lb.ID, l.ID, s.store.RandomHex(16)))
}

// rulesOf returns the rules of a listener, sorted by priority, with the default rule last.
func rulesOf(st *store.ELBState, listener string) []*store.Rule {
	var out []*store.Rule
	for _, r := range st.RulesOfListener(listener) {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *store.Rule) int { return cmp.Compare(ruleSortKey(a), ruleSortKey(b)) })
	return out
}

// ruleSortKey returns the sort key of a rule among the rules of its listener. It is the priority, or a higher number for the
// default rule.
func ruleSortKey(r *store.Rule) int32 {
	if r.IsDefault() {
		return maxPriority + 1
	}
	return r.Priority
}

// equalJSON reports whether a and b have the same JSON encoding. It compares types of the SDK, which have unexported fields.
func equalJSON(a, b any) bool {
	left, errA := json.Marshal(a)
	right, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(left) == string(right)
}

// CreateRule creates a rule with a priority that no other rule of the listener has.
func (s *listeners) CreateRule(c *store.Call, in *elb.CreateRuleInput) (*elb.CreateRuleOutput, error) {
	sh := s.newValidation()
	sh.checkPresent("listenerArn", in.ListenerArn != nil)
	sh.checkPresent("conditions", in.Conditions != nil)
	sh.checkPresent("priority", in.Priority != nil)
	sh.checkPresent("actions", in.Actions != nil)
	sh.checkRange("priority", in.Priority, 1, maxPriority)
	sh.validateActions("actions", in.Actions)
	sh.validateTags(in.Tags)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	l, err := findListener(st, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	lb := st.LoadBalancers[l.LoadBalancer]
	if !lb.IsALB() {
		return nil, store.Errorf(store.EmulatorSource, "UnsupportedProtocol", "Rules on listeners of Network Load Balancers are not supported by this emulator")
	}
	r := &store.Rule{Listener: l.ARN, Priority: *in.Priority}
	if r.Conditions, err = s.checkConditions(in.Conditions); err != nil {
		return nil, err
	}
	if r.Transforms, err = checkTransforms(in.Transforms); err != nil {
		return nil, err
	}
	if r.Tags, err = newTags(in.Tags); err != nil {
		return nil, err
	}
	if r.Actions, err = s.checkActions(actionScope{partition: p, lb: lb, listener: l}, in.Actions); err != nil {
		return nil, err
	}
	for _, other := range rulesOf(st, l.ARN) {
		if other.Priority == r.Priority {
			return nil, store.Errorf(store.ReportSource("hashicorp/terraform#24239"), "PriorityInUse", "Priority '%d' is currently in use", r.Priority)
		}
	}
	if err := s.checkRuleQuota(st, lb); err != nil {
		return nil, err
	}
	r.ARN = s.newRuleARN(p, lb, l)
	st.AddRule(r)
	st.UpdateTargetGroupUse(lb.ARN, c.Now)
	return &elb.CreateRuleOutput{Rules: []types.Rule{s.describeRule(r)}}, nil
}

// checkRuleQuota returns an error if the load balancer already has the maximum number of rules. The rules of all listeners
// count, but not default rules.
func (s *listeners) checkRuleQuota(st *store.ELBState, lb *store.LoadBalancer) error {
	n := 0
	st.EachRuleOfLoadBalancer(lb.ARN, func(r *store.Rule) {
		if !r.IsDefault() {
			n++
		}
	})
	if most := s.quota(quotaRulesPerALB); n >= most {
		return store.Errorf(store.UnprovenSource, "TooManyRules", "The maximum number of rules per load balancer '%d' has been reached on load balancer '%s'", most, lb.ARN)
	}
	return nil
}

// ModifyRule replaces all conditions, actions or transforms of a rule, if the request contains them.
func (s *listeners) ModifyRule(c *store.Call, in *elb.ModifyRuleInput) (*elb.ModifyRuleOutput, error) {
	var sh validation
	sh.checkPresent("ruleArn", in.RuleArn != nil)
	sh.validateActions("actions", in.Actions)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	r, err := findRule(st, in.RuleArn)
	if err != nil {
		return nil, err
	}
	if r.IsDefault() {
		return nil, store.Errorf(store.UnprovenSource, codeNotPermitted, "Default rule '%s' cannot be modified", r.ARN)
	}
	reset := store.Value(in.ResetTransforms)
	if in.Conditions == nil && in.Actions == nil && in.Transforms == nil && !reset {
		return nil, validationError(store.UnprovenSource, "Either conditions or actions must be specified")
	}
	if reset && len(in.Transforms) > 0 {
		return nil, validationError(store.UnprovenSource, "You cannot specify transforms and reset them in one call")
	}
	next := *r
	if in.Conditions != nil {
		if next.Conditions, err = s.checkConditions(in.Conditions); err != nil {
			return nil, err
		}
	}
	if in.Transforms != nil || reset {
		if next.Transforms, err = checkTransforms(in.Transforms); err != nil {
			return nil, err
		}
	}
	if in.Actions != nil {
		l := st.Listeners[r.Listener]
		sc := actionScope{partition: p, lb: st.LoadBalancers[l.LoadBalancer], listener: l, replacedRule: r}
		if next.Actions, err = s.checkActions(sc, in.Actions); err != nil {
			return nil, err
		}
	}
	*r = next
	st.UpdateTargetGroupUse(st.Listeners[r.Listener].LoadBalancer, c.Now)
	return &elb.ModifyRuleOutput{Rules: []types.Rule{s.describeRule(r)}}, nil
}

// DeleteRule deletes a rule that is not a default rule.
func (s *listeners) DeleteRule(c *store.Call, in *elb.DeleteRuleInput) (*elb.DeleteRuleOutput, error) {
	if err := requiredError("ruleArn", in.RuleArn != nil); err != nil {
		return nil, err
	}
	st := c.Partition.ELB
	r, err := findRule(st, in.RuleArn)
	if err != nil {
		return nil, err
	}
	if r.IsDefault() {
		return nil, store.Errorf(store.UnprovenSource, codeNotPermitted, "Default rule '%s' cannot be deleted", r.ARN)
	}
	st.RemoveRule(r)
	st.UpdateTargetGroupUse(st.Listeners[r.Listener].LoadBalancer, c.Now)
	return &elb.DeleteRuleOutput{}, nil
}

// SetRulePriorities changes the priorities of rules in one step. Only the resulting priorities must be different from each
// other, so rules can exchange their priorities.
func (s *listeners) SetRulePriorities(c *store.Call, in *elb.SetRulePrioritiesInput) (*elb.SetRulePrioritiesOutput, error) {
	var sh validation
	sh.checkPresent("rulePriorities", in.RulePriorities != nil)
	for i, pair := range in.RulePriorities {
		sh.checkRange(fmt.Sprintf("rulePriorities.%d.member.priority", i+1), pair.Priority, 1, maxPriority)
	}
	if err := sh.err(); err != nil {
		return nil, err
	}
	if len(in.RulePriorities) == 0 {
		return nil, validationError(store.UnprovenSource, "A rule priority must be specified")
	}
	st := c.Partition.ELB
	moved := map[*store.Rule]int32{}
	wanted := map[int32]bool{}
	var order []*store.Rule
	for _, pair := range in.RulePriorities {
		r, err := findRule(st, pair.RuleArn)
		if err != nil {
			return nil, err
		}
		if pair.Priority == nil {
			return nil, validationError(store.UnprovenSource, "A priority must be specified for rule '%s'", r.ARN)
		}
		if _, twice := moved[r]; twice {
			return nil, validationError(store.UnprovenSource, "Rule '%s' was provided multiple times", r.ARN)
		}
		if wanted[*pair.Priority] {
			return nil, validationError(store.UnprovenSource, "Priority '%d' was provided multiple times", *pair.Priority)
		}
		if r.IsDefault() {
			return nil, store.Errorf(store.UnprovenSource, codeNotPermitted, "The priority of default rule '%s' cannot be changed", r.ARN)
		}
		if len(order) > 0 && order[0].Listener != r.Listener {
			return nil, validationError(store.UnprovenSource, "The rules must all belong to the same listener")
		}
		moved[r], wanted[*pair.Priority] = *pair.Priority, true
		order = append(order, r)
	}
	for _, other := range rulesOf(st, order[0].Listener) {
		if _, moves := moved[other]; !moves && wanted[other.Priority] {
			return nil, store.Errorf(store.ReportSource("hashicorp/terraform#24239"), "PriorityInUse", "Priority '%d' is currently in use", other.Priority)
		}
	}
	out := &elb.SetRulePrioritiesOutput{}
	for _, r := range order {
		r.Priority = moved[r]
		out.Rules = append(out.Rules, s.describeRule(r))
	}
	return out, nil
}

// DescribeRules lists the rules of a listener, sorted by priority, or the rules with the ARNs in the request.
func (s *listeners) DescribeRules(c *store.Call, in *elb.DescribeRulesInput) (*elb.DescribeRulesOutput, error) {
	st := c.Partition.ELB
	if in.ListenerArn == nil && len(in.RuleArns) == 0 {
		return nil, validationError(store.UnprovenSource, "You must specify either listener rule ARNs or a listener ARN")
	}
	if in.ListenerArn != nil && len(in.RuleArns) > 0 {
		return nil, validationError(store.UnprovenSource, "Listener rule ARNs and a listener ARN cannot be specified at the same time")
	}
	var found []*store.Rule
	inOrder := unordered
	key := func(r *store.Rule) string { return r.ARN }
	if in.ListenerArn != nil {
		l, err := findListener(st, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		found, inOrder = rulesOf(st, l.ARN), ordered
		key = func(r *store.Rule) string { return fmt.Sprintf("%05d", ruleSortKey(r)) }
	} else {
		var err error
		if found, err = findAll(st, kindRule, st.Rules, in.RuleArns); err != nil {
			return nil, err
		}
	}
	found, next, err := page(s.store, found, key, inOrder, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeRulesOutput{NextMarker: next}
	for _, r := range found {
		out.Rules = append(out.Rules, s.describeRule(r))
	}
	return out, nil
}

// describeRule returns a rule in the form in which DescribeRules returns it.
func (s *listeners) describeRule(r *store.Rule) types.Rule {
	priority := "default"
	if !r.IsDefault() {
		priority = strconv.Itoa(int(r.Priority))
	}
	out := types.Rule{
		RuleArn: new(r.ARN), Priority: new(priority), IsDefault: new(r.IsDefault()),
		Conditions: append([]types.RuleCondition{}, r.Conditions...), Actions: s.describeActions(r.Actions),
		Transforms: slices.Clone(r.Transforms),
	}
	return out
}
