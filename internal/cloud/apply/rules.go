package apply

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// ruleWriter creates, changes and deletes rules of listeners.
type ruleWriter struct {
	*dependencies
}

func (w *ruleWriter) createRule(ctx context.Context, a plan.CreateRule, known plan.KnownIDs) (plan.StepResult, error) {
	listener, made, err := w.lookupOwnedID(known, a.Listener)
	if err != nil {
		return plan.StepResult{}, err
	}
	in := &elb.CreateRuleInput{ListenerArn: aws.String(listener), Priority: aws.Int32(a.Priority), Tags: convert.TagsToAWS(a.Tags)}
	if in.Conditions, err = convert.ConditionsToAWS(a.Rule.Conditions); err != nil {
		return plan.StepResult{}, err
	}
	if in.Transforms, err = convert.TransformsToAWS(a.Rule.Transforms); err != nil {
		return plan.StepResult{}, err
	}
	if in.Actions, err = convert.ActionsToAWS(a.Rule.Actions, targetGroupARNs(known)); err != nil {
		return plan.StepResult{}, err
	}
	what := "create a rule on " + listener
	out, err := w.API.ELB.CreateRule(ctx, in)
	if err != nil {
		return plan.StepResult{}, w.handleFailure(what, err, latestCreationTime(w.inv, made, a.Rule.Actions, known), forgetFunc(plan.Listener, listener))
	}
	if len(out.Rules) != 1 {
		return plan.StepResult{}, sdk.NewError(failure.Unknown, what, "AWS returned %d rules", len(out.Rules))
	}
	r, err := convert.RuleFromAWS(out.Rules[0])
	if err != nil {
		w.inv.WithWriteLock(func() { w.inv.Forget(plan.Listener, listener) })
		return plan.StepResult{}, err
	}
	if a.Tags != nil {
		r.Tags = a.Tags
	}
	w.inv.WithWriteLock(func() {
		if e, le := w.inv.Listener(listener); le != nil {
			w.inv.PutRule(e, le, r)
			e.WrittenAt = w.Config.Clock.Now()
		}
	})
	return plan.StepResult{ID: r.ARN}, nil
}

func (w *ruleWriter) modifyRule(ctx context.Context, a plan.ModifyRule, known plan.KnownIDs) error {
	arn, _, err := w.lookupOwnedID(known, a.Rule)
	if err != nil {
		return err
	}
	in := &elb.ModifyRuleInput{RuleArn: aws.String(arn)}
	if in.Conditions, err = convert.ConditionsToAWS(a.Conditions); err != nil {
		return err
	}
	if in.Actions, err = convert.ActionsToAWS(a.Actions, targetGroupARNs(known)); err != nil {
		return err
	}
	if in.Transforms, err = convert.TransformsToAWS(a.Transforms); err != nil {
		return err
	}
	if len(in.Transforms) == 0 {
		in.ResetTransforms = aws.Bool(true)
	}
	out, err := w.API.ELB.ModifyRule(ctx, in)
	if err != nil {
		return w.handleFailure("modify rule "+arn, err, latestCreationTime(w.inv, time.Time{}, a.Actions, known), forgetFunc(plan.Rule, arn))
	}
	return w.storeRules(out.Rules)
}

// storeRules stores rules that AWS returned after a change in the inventory. It keeps the tags in the inventory, because AWS
// does not return tags with rules.
func (w *ruleWriter) storeRules(rules []elbtypes.Rule) error {
	for _, x := range rules {
		r, err := convert.RuleFromAWS(x)
		if err != nil {
			return err
		}
		w.inv.WithWriteLock(func() {
			if e, le := w.inv.ListenerOfRule(r.ARN); le != nil {
				r.Tags = le.Rules[r.ARN].Tags
				w.inv.PutRule(e, le, r)
				e.WrittenAt = w.Config.Clock.Now()
			}
		})
	}
	return nil
}

// setPriorities changes the priorities of rules in one call. AWS changes all of them or none.
func (w *ruleWriter) setPriorities(ctx context.Context, a plan.SetPriorities, known plan.KnownIDs) error {
	in := &elb.SetRulePrioritiesInput{}
	var first string
	for _, addr := range slices.SortedFunc(maps.Keys(a.Priorities), plan.Address.Compare) {
		arn, _, err := w.lookupOwnedID(known, addr)
		if err != nil {
			return err
		}
		if first == "" {
			first = arn
		}
		in.RulePriorities = append(in.RulePriorities, elbtypes.RulePriorityPair{RuleArn: aws.String(arn), Priority: aws.Int32(a.Priorities[addr])})
	}
	if first == "" {
		return nil
	}
	out, err := w.API.ELB.SetRulePriorities(ctx, in)
	if err != nil {
		return w.handleFailure("set rule priorities", err, time.Time{}, forgetFunc(plan.Rule, first))
	}
	return w.storeRules(out.Rules)
}

func (w *ruleWriter) deleteRule(ctx context.Context, a plan.DeleteRule) error {
	return w.deleteOwned(plan.Rule, a.ARN, func() error {
		_, err := w.API.ELB.DeleteRule(ctx, &elb.DeleteRuleInput{RuleArn: aws.String(a.ARN)})
		return err
	}, func() {
		if e, le := w.inv.ListenerOfRule(a.ARN); le != nil {
			w.inv.DropRule(e, le, a.ARN)
			e.WrittenAt = w.Config.Clock.Now()
		}
	})
}
