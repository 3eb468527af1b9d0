package reference

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// rules creates, updates and deletes the listener rules of a deployment.
type rules struct{ *deployment }

type ruleSpec struct {
	ListenerARN string
	Priority    int32
	Actions     []elbtypes.Action
	Conditions  []elbtypes.RuleCondition
	Transforms  []elbtypes.RuleTransform
	Tags        map[string]string
}

// existingRule is an existing rule in AWS, but not a default rule.
type existingRule struct {
	elbtypes.Rule
	priority  int32
	isMatched bool // with a desired rule
}

// synthesize creates, updates and deletes rules. It matches existing rules with desired rules by conditions, actions and
// transforms, then by priority, and never by tags.
func (d rules) synthesize() error {
	wants := map[string][]ruleSpec{}
	for _, id := range d.desiredIDs(document.TypeRule) {
		var want ruleSpec
		if err := d.decodeSpec(document.TypeRule, id, &want); err != nil {
			return err
		}
		var err error
		if want.Actions, err = orderedActions(want.Actions); err != nil {
			return err
		}
		wants[want.ListenerARN] = append(wants[want.ListenerARN], want)
	}
	for _, id := range d.desiredIDs(document.TypeListener) {
		listener := d.references["#/resources/"+string(document.TypeListener)+"/"+id+"/status/listenerARN"]
		slices.SortFunc(wants[listener], func(a, b ruleSpec) int { return cmp.Compare(a.Priority, b.Priority) })
		if err := d.syncRules(listener, id, wants[listener]); err != nil {
			return fmt.Errorf("rules of listener %s: %w", id, err)
		}
	}
	return nil
}

func (d rules) existingRules(listener string) (out []*existingRule, err error) {
	pages := elb.NewDescribeRulesPaginator(d.elb, &elb.DescribeRulesInput{ListenerArn: aws.String(listener)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rules {
			if aws.ToBool(r.IsDefault) {
				continue
			}
			n, err := strconv.ParseInt(stringValue(r.Priority), 10, 32)
			if err != nil {
				return nil, err
			}
			out = append(out, &existingRule{Rule: r, priority: int32(n)})
		}
	}
	slices.SortFunc(out, func(a, b *existingRule) int { return cmp.Compare(a.priority, b.priority) })
	return out, nil
}

func (d rules) syncRules(listener, port string, wants []ruleSpec) error {
	live, err := d.existingRules(listener)
	if err != nil {
		return err
	}
	pairs := map[int32]*existingRule{} // existing rules by desired priority
	take := func(fits func(w ruleSpec, r *existingRule) bool) {
		for _, w := range wants {
			i := slices.IndexFunc(live, func(r *existingRule) bool { return !r.isMatched && fits(w, r) })
			if pairs[w.Priority] == nil && i >= 0 {
				live[i].isMatched, pairs[w.Priority] = true, live[i]
			}
		}
	}
	same := func(w ruleSpec, r *existingRule) bool {
		return sameActions(w.Actions, r.Actions) && sameConditions(w.Conditions, r.Conditions) && sameTransforms(w.Transforms, r.Transforms)
	}
	take(same)
	var moved []elbtypes.RulePriorityPair
	for _, w := range wants {
		if r := pairs[w.Priority]; r != nil && r.priority != w.Priority {
			moved = append(moved, elbtypes.RulePriorityPair{RuleArn: r.RuleArn, Priority: aws.Int32(w.Priority)})
		}
	}
	take(func(w ruleSpec, r *existingRule) bool { return w.Priority == r.priority })
	var gone []*existingRule
	for _, r := range live {
		if !r.isMatched {
			gone = append(gone, r)
		}
	}
	if len(moved) > 0 {
		for i, r := range slices.Backward(gone) {
			moved = append(moved, elbtypes.RulePriorityPair{RuleArn: r.RuleArn, Priority: aws.Int32(50000 - int32(len(gone)-1-i))})
		}
		d.announceChange("SetRulePriorities", listener)
		if _, err := d.elb.SetRulePriorities(d.ctx, &elb.SetRulePrioritiesInput{RulePriorities: moved}); err != nil {
			return err
		}
	}
	var created []ruleSpec
	for _, w := range wants {
		switch r := pairs[w.Priority]; {
		case r == nil:
			created = append(created, w)
		case !same(w, r):
			in := &elb.ModifyRuleInput{RuleArn: r.RuleArn, Actions: w.Actions, Conditions: w.Conditions, Transforms: w.Transforms}
			if len(w.Transforms) == 0 {
				in.ResetTransforms = aws.Bool(true)
			}
			d.announceChange("ModifyRule", stringValue(r.RuleArn))
			if _, err := d.elb.ModifyRule(d.ctx, in); err != nil {
				return err
			}
		}
	}
	if err := d.replaceRules(listener, port, created, gone, len(live)); err != nil {
		return err
	}
	return d.retagRules(port, wants, pairs)
}

// replaceRules creates all rules in created, and then deletes all rules in gone. If AWS reports that the listener has
// too many rules, it deletes a rule before it creates the next one. count is the number of existing rules of the
// listener.
func (d rules) replaceRules(listener, port string, created []ruleSpec, gone []*existingRule, count int) error {
	remove := func() error {
		arn := gone[0].RuleArn
		d.announceChange("DeleteRule", stringValue(arn))
		_, err := d.elb.DeleteRule(d.ctx, &elb.DeleteRuleInput{RuleArn: arn})
		gone, count = gone[1:], count-1
		return err
	}
	most := 0
	for len(created) > 0 {
		if most > 0 && count >= most {
			if len(gone) == 0 {
				return errors.New("too many rules")
			}
			if err := remove(); err != nil {
				return err
			}
		}
		w := created[0]
		d.announceChange("CreateRule", fmt.Sprintf("%s:%d", port, w.Priority))
		_, err := d.elb.CreateRule(d.ctx, &elb.CreateRuleInput{
			ListenerArn: aws.String(listener), Priority: aws.Int32(w.Priority), Actions: w.Actions, Conditions: w.Conditions, Transforms: w.Transforms,
			Tags: elbTags(d.desiredTags(fmt.Sprintf("%s:%d", port, w.Priority), w.Tags)),
		})
		switch {
		case hasErrorCode(err, "TooManyRules") && most == 0:
			most = count
		case err != nil:
			return err
		default:
			created, count = created[1:], count+1
		}
	}
	for len(gone) > 0 {
		if err := remove(); err != nil {
			return err
		}
	}
	return nil
}

func (d rules) retagRules(port string, wants []ruleSpec, pairs map[int32]*existingRule) error {
	var arns []string
	for _, r := range pairs {
		arns = append(arns, stringValue(r.RuleArn))
	}
	slices.Sort(arns)
	tags, err := d.tagsOf(arns)
	if err != nil {
		return err
	}
	for _, w := range wants {
		if r := pairs[w.Priority]; r != nil {
			if err := d.retag(stringValue(r.RuleArn), d.desiredTags(fmt.Sprintf("%s:%d", port, w.Priority), w.Tags), tags[stringValue(r.RuleArn)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// orderedActions sets the field Order of actions, and returns them. It returns an error for OIDC, because documents do not
// contain the client secret.
func orderedActions(actions []elbtypes.Action) ([]elbtypes.Action, error) {
	for i := range actions {
		if actions[i].AuthenticateOidcConfig != nil {
			return nil, errors.New("the model of aws-load-balancer-controller does not support OIDC")
		}
		actions[i].Order = aws.Int32(int32(i + 1))
	}
	return actions, nil
}

// sortedByKey returns a copy of list, sorted by key.
func sortedByKey[T any](list []T, key func(T) string) []T {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return out
}
