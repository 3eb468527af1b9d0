package takeover

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func (b *builder) createRule(listener *string, priority string, r rule) {
	b.t.Helper()
	n, err := strconv.ParseInt(priority, 10, 32)
	must(b.t, n, err)
	_, err = b.elb.CreateRule(b.ctx(), &elb.CreateRuleInput{
		ListenerArn: listener, Priority: aws.Int32(int32(n)), Conditions: b.conditions(r.Conditions), Actions: b.actions(r.Actions),
		Transforms: r.Transforms, Tags: b.tags(r.Tags),
	})
	must(b.t, 0, err)
}

func (b *builder) conditions(list []elbtypes.RuleCondition) []elbtypes.RuleCondition {
	out := slices.Clone(list)
	if !b.variations.hasReversedOrder {
		return out
	}
	slices.Reverse(out)
	for _, c := range out {
		if c.HostHeaderConfig != nil {
			slices.Reverse(c.HostHeaderConfig.Values)
		}
		if c.PathPatternConfig != nil {
			slices.Reverse(c.PathPatternConfig.Values)
		}
		if c.HttpHeaderConfig != nil {
			slices.Reverse(c.HttpHeaderConfig.Values)
		}
		if c.HttpRequestMethodConfig != nil {
			slices.Reverse(c.HttpRequestMethodConfig.Values)
		}
		if c.SourceIpConfig != nil {
			slices.Reverse(c.SourceIpConfig.Values)
		}
		if c.QueryStringConfig != nil {
			slices.Reverse(c.QueryStringConfig.Values)
		}
	}
	return out
}

// actions returns recorded actions with the ARNs of target groups instead of names, changed by the variations. Several
// actions get the field Order, which AWS then requires.
func (b *builder) actions(list []elbtypes.Action) []elbtypes.Action {
	b.t.Helper()
	out := slices.Clone(list)
	for i := range out {
		a := &out[i]
		if len(out) > 1 || b.variations.hasExplicitDefaults {
			a.Order = aws.Int32(int32(i + 1))
		}
		if a.ForwardConfig != nil {
			b.resolveForward(a)
		}
		if a.RedirectConfig != nil && b.variations.hasExplicitDefaults {
			a.RedirectConfig = explicitRedirect(*a.RedirectConfig)
		}
	}
	return out
}

func (b *builder) resolveForward(a *elbtypes.Action) {
	b.t.Helper()
	f := *a.ForwardConfig
	f.TargetGroups = slices.Clone(f.TargetGroups)
	for i := range f.TargetGroups {
		f.TargetGroups[i].TargetGroupArn = aws.String(b.id(aws.ToString(f.TargetGroups[i].TargetGroupArn)))
	}
	if b.variations.hasReversedOrder {
		slices.Reverse(f.TargetGroups)
	}
	a.ForwardConfig = &f
	if len(f.TargetGroups) > 1 {
		return
	}
	switch {
	case b.variations.usesLegacyForward && f.TargetGroupStickinessConfig == nil:
		a.TargetGroupArn, a.ForwardConfig = f.TargetGroups[0].TargetGroupArn, nil
	case b.variations.hasExplicitDefaults:
		f.TargetGroups[0].Weight = aws.Int32(1)
		if f.TargetGroupStickinessConfig == nil {
			f.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(false)}
		}
	}
}

// explicitRedirect returns a redirect in which fields without a value have their default value.
func explicitRedirect(r elbtypes.RedirectActionConfig) *elbtypes.RedirectActionConfig {
	for _, f := range []struct {
		field **string
		value string
	}{
		{&r.Protocol, "#{protocol}"}, {&r.Port, "#{port}"}, {&r.Host, "#{host}"}, {&r.Path, "/#{path}"}, {&r.Query, "#{query}"},
	} {
		if *f.field == nil {
			*f.field = aws.String(f.value)
		}
	}
	return &r
}
