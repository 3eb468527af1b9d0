package convert

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// The names of condition fields in the AWS API.
const (
	hostField   = "host-header"
	pathField   = "path-pattern"
	headerField = "http-header"
	methodField = "http-request-method"
	queryField  = "query-string"
	sourceField = "source-ip"
)

// ConditionsToAWS converts the conditions of a rule. It returns an error for an unknown type of condition.
func ConditionsToAWS(cs []model.Condition) ([]elbtypes.RuleCondition, error) {
	out := make([]elbtypes.RuleCondition, 0, len(cs))
	for _, c := range cs {
		x, err := conditionToAWS(c)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func conditionToAWS(c model.Condition) (elbtypes.RuleCondition, error) {
	switch c := c.(type) {
	case model.HostHeader:
		return elbtypes.RuleCondition{Field: aws.String(hostField), HostHeaderConfig: &elbtypes.HostHeaderConditionConfig{Values: c.Values, RegexValues: c.Regex}}, nil
	case model.PathPattern:
		return elbtypes.RuleCondition{Field: aws.String(pathField), PathPatternConfig: &elbtypes.PathPatternConditionConfig{Values: c.Values, RegexValues: c.Regex}}, nil
	case model.HTTPHeader:
		return elbtypes.RuleCondition{Field: aws.String(headerField), HttpHeaderConfig: &elbtypes.HttpHeaderConditionConfig{
			HttpHeaderName: aws.String(c.Name), Values: c.Values, RegexValues: c.Regex,
		}}, nil
	case model.RequestMethod:
		return elbtypes.RuleCondition{Field: aws.String(methodField), HttpRequestMethodConfig: &elbtypes.HttpRequestMethodConditionConfig{Values: c.Values}}, nil
	case model.QueryString:
		q := &elbtypes.QueryStringConditionConfig{}
		for _, p := range c.Pairs {
			q.Values = append(q.Values, elbtypes.QueryStringKeyValuePair{Key: NilIfEmpty(p.Key), Value: aws.String(p.Value)})
		}
		return elbtypes.RuleCondition{Field: aws.String(queryField), QueryStringConfig: q}, nil
	case model.SourceIP:
		return elbtypes.RuleCondition{Field: aws.String(sourceField), SourceIpConfig: &elbtypes.SourceIpConditionConfig{Values: c.CIDRs}}, nil
	}
	return elbtypes.RuleCondition{}, fmt.Errorf("condition of type %T cannot be converted for AWS", c)
}

// conditionsFromAWS converts the conditions of a rule. Top-level values are an older form of a condition, and are read only
// if the condition has no config.
func conditionsFromAWS(cs []elbtypes.RuleCondition) []model.Condition {
	var out []model.Condition
	for _, c := range cs {
		out = append(out, conditionFromAWS(c))
	}
	return out
}

func conditionFromAWS(c elbtypes.RuleCondition) model.Condition {
	switch aws.ToString(c.Field) {
	case hostField:
		if c.HostHeaderConfig == nil {
			return model.HostHeader{Values: nonEmptyList(c.Values), Regex: nonEmptyList(c.RegexValues)}
		}
		return model.HostHeader{Values: nonEmptyList(c.HostHeaderConfig.Values), Regex: nonEmptyList(c.HostHeaderConfig.RegexValues)}
	case pathField:
		if c.PathPatternConfig == nil {
			return model.PathPattern{Values: nonEmptyList(c.Values), Regex: nonEmptyList(c.RegexValues)}
		}
		return model.PathPattern{Values: nonEmptyList(c.PathPatternConfig.Values), Regex: nonEmptyList(c.PathPatternConfig.RegexValues)}
	case headerField:
		if c.HttpHeaderConfig != nil {
			return model.HTTPHeader{Name: aws.ToString(c.HttpHeaderConfig.HttpHeaderName), Values: nonEmptyList(c.HttpHeaderConfig.Values), Regex: nonEmptyList(c.HttpHeaderConfig.RegexValues)}
		}
	case methodField:
		if c.HttpRequestMethodConfig != nil {
			return model.RequestMethod{Values: nonEmptyList(c.HttpRequestMethodConfig.Values)}
		}
	case queryField:
		if c.QueryStringConfig != nil {
			var q model.QueryString
			for _, p := range c.QueryStringConfig.Values {
				q.Pairs = append(q.Pairs, model.QueryPair{Key: aws.ToString(p.Key), Value: aws.ToString(p.Value)})
			}
			return q
		}
	case sourceField:
		if c.SourceIpConfig != nil {
			return model.SourceIP{CIDRs: nonEmptyList(c.SourceIpConfig.Values)}
		}
	}
	// No desired condition has an empty name. This condition therefore differs from every desired condition, and the plan
	// corrects the rule.
	return model.HTTPHeader{Name: "", Values: []string{"unknown condition " + aws.ToString(c.Field)}}
}

// nonEmptyList returns a copy of a list, or nil if the list is empty, because AWS does not distinguish an empty list from
// nil.
func nonEmptyList(in []string) []string {
	if len(in) == 0 {
		return nil
	}
	return slices.Clone(in)
}

// TransformsToAWS converts the transforms of a rule. It returns an error for an unknown kind of transform.
func TransformsToAWS(ts []model.Transform) ([]elbtypes.RuleTransform, error) {
	var out []elbtypes.RuleTransform
	for _, t := range ts {
		var rewrites []elbtypes.RewriteConfig
		for _, r := range t.Rewrites {
			rewrites = append(rewrites, elbtypes.RewriteConfig{Regex: aws.String(r.Regex), Replace: aws.String(r.Replace)})
		}
		x := elbtypes.RuleTransform{Type: elbtypes.TransformTypeEnum(t.Kind)}
		switch t.Kind {
		case model.HostRewrite:
			x.HostHeaderRewriteConfig = &elbtypes.HostHeaderRewriteConfig{Rewrites: rewrites}
		case model.URLRewrite:
			x.UrlRewriteConfig = &elbtypes.UrlRewriteConfig{Rewrites: rewrites}
		default:
			return nil, fmt.Errorf("transform of type %s cannot be converted for AWS", t.Kind)
		}
		out = append(out, x)
	}
	return out, nil
}

func transformsFromAWS(ts []elbtypes.RuleTransform) []model.Transform {
	var out []model.Transform
	for _, t := range ts {
		x := model.Transform{Kind: model.TransformKind(t.Type)}
		var rewrites []elbtypes.RewriteConfig
		if t.HostHeaderRewriteConfig != nil {
			rewrites = t.HostHeaderRewriteConfig.Rewrites
		}
		if t.UrlRewriteConfig != nil {
			rewrites = t.UrlRewriteConfig.Rewrites
		}
		for _, r := range rewrites {
			x.Rewrites = append(x.Rewrites, model.Rewrite{Regex: aws.ToString(r.Regex), Replace: aws.ToString(r.Replace)})
		}
		out = append(out, x)
	}
	return out
}

// RuleFromAWS converts a rule without its tags, which are read separately. It returns an error for the default rule, because
// its priority is not a number.
func RuleFromAWS(r elbtypes.Rule) (observed.Rule, error) {
	p, err := strconv.ParseInt(aws.ToString(r.Priority), 10, 32)
	if err != nil {
		return observed.Rule{}, fmt.Errorf("rule %s has priority %q", aws.ToString(r.RuleArn), aws.ToString(r.Priority))
	}
	return observed.Rule{
		ARN: aws.ToString(r.RuleArn), Priority: int32(p), Conditions: conditionsFromAWS(r.Conditions),
		Transforms: transformsFromAWS(r.Transforms), Actions: actionsFromAWS(r.Actions),
	}, nil
}
