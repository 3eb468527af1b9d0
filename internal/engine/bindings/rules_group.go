package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// changeSecurityGroup changes the rules of one security group. If AWS refuses the call because of an invalid rule, or because
// the quota of rules is reached, the change is carried out as far as AWS accepts it (securityGroupUpdate).
func (r ruleSyncer) changeSecurityGroup(ctx context.Context, c bindingplan.SecurityGroupChange) (changed bool, err error) {
	p := securityGroupUpdate{ruleSyncer: r, group: c.Group}
	err = p.send(ctx, c.Authorize, c.Revoke)
	if isInvalid := r.isInvalidError(err); r.isQuotaError(err) || isInvalid && len(c.Authorize)+len(c.Revoke) > 1 {
		err = p.applyAcceptedRules(ctx, r.sharedRules.orderByShare(c, r.ruleOptions()))
	}
	return p.changed, err
}

func (r ruleSyncer) isQuotaError(err error) bool {
	return err != nil && r.Cloud.Class(err) == failure.Quota
}

func (r ruleSyncer) isInvalidError(err error) bool {
	return err != nil && (r.Cloud.Class(err) == failure.Invalid || r.Cloud.Class(err) == failure.Gone)
}

// isRefusalError reports whether AWS would probably return the same error if the call were repeated immediately.
func (r ruleSyncer) isRefusalError(err error) bool {
	switch r.Cloud.Class(err) {
	case failure.Denied, failure.Quota, failure.Invalid, failure.Gone, failure.Unknown:
		return failure.PostponedFor(err) == 0
	}
	return false
}

// securityGroupUpdate is a change of the rules of a security group that is carried out as far as AWS accepts it. It adds as
// many valid rules as the quota permits. It removes an old rule only after the rules that replace it exist. The exception is
// replaceOneByOne, which removes the old rule first, because the quota does not permit both rules.
type securityGroupUpdate struct {
	ruleSyncer
	group   string
	changed bool // whether AWS has accepted a call
	desired bindingplan.SecurityGroupChange
	// missing are the rules that are still to be added. remaining are the rules that are still to be removed. refused are
	// the rules that AWS refuses because they are invalid, and faults are the errors of AWS for these rules.
	missing, remaining, refused []model.IngressRule
	faults                      []error
	full                        error // the error of AWS that the quota is reached; nil if AWS did not refuse a rule because of the quota
}

// send adds and removes rules by one change.
func (p *securityGroupUpdate) send(ctx context.Context, authorize, revoke []model.IngressRule) error {
	if len(authorize)+len(revoke) == 0 {
		return nil
	}
	if err := p.checkFence(); err != nil {
		return err
	}
	if err := p.Cloud.ChangeEndpointRules(ctx, p.group, authorize, revoke); err != nil {
		return fmt.Errorf("change rules of security group %s: %w", p.group, err)
	}
	p.changed = true
	p.recordChange(RulesAuthorized, p.group, textsOf(authorize, model.IngressRule.String))
	p.recordChange(RulesRevoked, p.group, textsOf(revoke, model.IngressRule.String))
	return nil
}

func (p *securityGroupUpdate) applyAcceptedRules(ctx context.Context, c bindingplan.SecurityGroupChange) error {
	p.desired, p.missing, p.remaining = c, c.Authorize, c.Revoke
	for _, do := range []func(context.Context) error{p.addAndRemoveRules, p.replaceOneByOne, p.addAndRemoveRules} {
		if err := do(ctx); err != nil {
			return errors.Join(append(p.faults, err)...)
		}
	}
	if p.full != nil {
		p.faults = append(p.faults, fmt.Errorf("%w; the security group would have %d rules", p.full, c.Total))
	}
	return errors.Join(p.faults...)
}

// addAndRemoveRules adds the missing rules and removes the old rules for which all replacements exist. It repeats this until
// no old rule can be removed.
func (p *securityGroupUpdate) addAndRemoveRules(ctx context.Context) error {
	for {
		if err := p.addMissingRules(ctx); err != nil {
			return err
		}
		var replaced, others []model.IngressRule
		for _, old := range p.remaining {
			if len(p.missingReplacements(old)) == 0 {
				replaced = append(replaced, old)
			} else {
				others = append(others, old)
			}
		}
		p.remaining = others
		if err := p.send(ctx, nil, replaced); err != nil || len(replaced) == 0 {
			return err
		}
	}
}

// addMissingRules adds the missing rules that AWS accepts. If AWS refuses a rule because of the quota, it stores the error in
// full.
func (p *securityGroupUpdate) addMissingRules(ctx context.Context) error {
	p.full = nil
	for len(p.missing) > 0 && p.full == nil {
		var n int
		authorize := func(rules []model.IngressRule) error { return p.authorize(ctx, rules) }
		n, p.full = network.AuthorizeUpToQuota(p.missing, authorize, func(err error) bool { return p.isQuotaError(err) || p.isInvalidError(err) })
		p.missing = p.missing[n:]
	}
	if p.isQuotaError(p.full) {
		return nil
	}
	return p.full
}

// authorize adds rules. It returns no error about a single invalid rule, but records it as refused.
func (p *securityGroupUpdate) authorize(ctx context.Context, rules []model.IngressRule) error {
	err := p.send(ctx, rules, nil)
	if len(rules) == 1 && p.isInvalidError(err) {
		p.recordRefusedRule(rules[0], err)
		return nil
	}
	return err
}

func (p *securityGroupUpdate) recordRefusedRule(rule model.IngressRule, err error) {
	p.refused, p.faults = append(p.refused, rule), append(p.faults, err)
}

// missingReplacements returns the rules that do not exist yet, and that must exist before the rule old is removed.
func (p *securityGroupUpdate) missingReplacements(old model.IngressRule) []model.IngressRule {
	return slices.DeleteFunc(p.desired.ReplacementsOf(old), func(r model.IngressRule) bool {
		return !slices.Contains(p.missing, r) && !slices.Contains(p.refused, r)
	})
}

// replaceOneByOne replaces old rules for which only one new rule is missing. The quota does not permit both rules at the
// same time. Therefore the old rule is removed first. It is restored if the new rule still cannot be added.
func (p *securityGroupUpdate) replaceOneByOne(ctx context.Context) error {
	for _, old := range slices.Clone(p.remaining) {
		next := p.missingReplacements(old)
		if len(next) != 1 || slices.Contains(p.refused, next[0]) {
			continue
		}
		switch err := p.replaceRule(ctx, old, next[0]); {
		case err == nil:
			p.remaining = withoutRule(p.remaining, old)
		case p.isInvalidError(err):
			p.recordRefusedRule(next[0], err)
		case p.isQuotaError(err):
			continue
		default:
			return err
		}
		p.missing = withoutRule(p.missing, next[0])
	}
	return nil
}

// replaceRule removes the rule old, and adds the rule next in its place. If next cannot be added, it restores old.
func (p *securityGroupUpdate) replaceRule(ctx context.Context, old, next model.IngressRule) error {
	if err := p.send(ctx, nil, []model.IngressRule{old}); err != nil {
		return err
	}
	err := p.send(ctx, []model.IngressRule{next}, nil)
	if err != nil {
		if err := p.send(ctx, []model.IngressRule{old}, nil); err != nil {
			return err
		}
	}
	return err
}

// withoutRule returns the rules other than r.
func withoutRule(rules []model.IngressRule, r model.IngressRule) []model.IngressRule {
	return slices.DeleteFunc(slices.Clone(rules), func(other model.IngressRule) bool { return other == r })
}
