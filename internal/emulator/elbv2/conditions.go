package elbv2

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	fieldHost   = "host-header"
	fieldPath   = "path-pattern"
	fieldHeader = "http-header"
	fieldMethod = "http-request-method"
	fieldQuery  = "query-string"
	fieldSource = "source-ip"

	conditionValueLength = 128
	conditionNameLength  = 40
)

var (
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9\-._*?]*$`)
	hostTail      = regexp.MustCompile(`\.[A-Za-z*?]+$`)
	pathPattern   = regexp.MustCompile(`^[A-Za-z0-9_\-.$/~"'@:+&*?]*$`)
	headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$")
	methodPattern = regexp.MustCompile(`^[A-Z_-]+$`)
	valuePattern  = regexp.MustCompile(`^[\x20-\x7e]*$`)
)

// conditionFields returns the fields in the order of AWS's message.
func conditionFields() []string {
	return []string{fieldPath, fieldHost, fieldHeader, fieldMethod, fieldQuery, fieldSource}
}

// configName returns the name of the member with a field's values.
func configName(field string) string {
	switch field {
	case fieldHost:
		return "HostHeaderConfig"
	case fieldPath:
		return "PathPatternConfig"
	case fieldHeader:
		return "HttpHeaderConfig"
	case fieldMethod:
		return "HttpRequestMethodConfig"
	case fieldQuery:
		return "QueryStringConfig"
	}
	return "SourceIpConfig"
}

// conditionsBudget counts values and wildcards, whose numbers are limited over all conditions of a rule.
type conditionsBudget struct {
	values, wildcards int
}

// checkConditions checks the conditions of a rule on an ALB and returns them
// as AWS describes them.
func (s *listeners) checkConditions(in []types.RuleCondition) ([]types.RuleCondition, error) {
	var sh shape
	for i, c := range in {
		sh.length(fmt.Sprintf("conditions.%d.member.field", i+1), c.Field, 0, 64)
	}
	if err := sh.err(); err != nil {
		return nil, err
	}
	if len(in) == 0 {
		return nil, invalid(store.Unproven, "A condition must be specified")
	}
	var budget conditionsBudget
	seen := map[string]bool{}
	out := make([]types.RuleCondition, 0, len(in))
	for _, c := range in {
		field := store.Value(c.Field)
		if !slices.Contains(conditionFields(), field) {
			return nil, invalid(store.Unproven, "Condition field '%s' must be one of '[%s]'", field, strings.Join(conditionFields(), ","))
		}
		if seen[field] && field != fieldHeader && field != fieldQuery {
			return nil, invalid(store.Unproven, "A rule can only have one '%s' condition", field)
		}
		seen[field] = true
		if err := checkForm(c, field); err != nil {
			return nil, err
		}
		stored, err := checkCondition(c, field, &budget)
		if err != nil {
			return nil, err
		}
		out = append(out, stored)
	}
	if most := s.quota(quotaConditionValues); budget.values > most {
		return nil, invalid(store.Unproven, "A rule can only have '%d' condition values and regex values", most)
	}
	if most := s.quota(quotaConditionWildcards); budget.wildcards > most {
		return nil, invalid(store.Unproven, "A rule can only have '%d' condition wildcards", most)
	}
	return out, nil
}

// checkForm checks that a condition has the members for its field, and no others.
func checkForm(c types.RuleCondition, field string) error {
	configs := map[string]bool{
		fieldHost: c.HostHeaderConfig != nil, fieldPath: c.PathPatternConfig != nil, fieldHeader: c.HttpHeaderConfig != nil,
		fieldMethod: c.HttpRequestMethodConfig != nil, fieldQuery: c.QueryStringConfig != nil, fieldSource: c.SourceIpConfig != nil,
	}
	for _, other := range conditionFields() {
		if other != field && configs[other] {
			return invalid(store.Unproven, "The '%s' field is not compatible with '%s'", configName(other), field)
		}
	}
	legacy := field == fieldHost || field == fieldPath
	if !legacy && len(c.Values) > 0 {
		return invalid(store.Unproven, "The 'Values' field is not compatible with '%s'", field)
	}
	if !legacy && len(c.RegexValues) > 0 {
		return invalid(store.Unproven, "'RegexValues' is not supported for a condition of type '%s'", field)
	}
	top := len(c.Values) > 0 || len(c.RegexValues) > 0
	switch {
	case top && configs[field]:
		return invalid(store.Unproven, "You cannot provide both Values and '%s' for a condition of type '%s'", configName(field), field)
	case !top && !configs[field] && legacy:
		return invalid(store.Unproven, "For conditions of type '%s', you must specify the following fields: 'Values or RegexValues or %s'", field, configName(field))
	case !configs[field] && !legacy:
		return invalid(store.Unproven, "For conditions of type '%s', you must specify the following fields: '%s'", field, configName(field))
	case len(c.Values) > 1:
		return invalid(store.Unproven, "The '%s' field contains too many values; the limit is '1'", field)
	case len(c.Values) > 0 && len(c.RegexValues) > 0:
		return exactlyOneError(field)
	}
	return nil
}

func exactlyOneError(field string) error {
	return invalid(store.Unproven, "You must provide exactly one of the following: ['Values' 'RegexValues'] for config of type '%s'", configName(field))
}

func checkCondition(c types.RuleCondition, field string, b *conditionsBudget) (types.RuleCondition, error) {
	out := types.RuleCondition{Field: new(field), Values: []string{}}
	values, regexes := c.Values, c.RegexValues
	switch field {
	case fieldHost:
		if c.HostHeaderConfig != nil {
			values, regexes = c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues
		}
		if err := checkPatterns(field, values, regexes, b, checkHostValue); err != nil {
			return out, err
		}
		out.Values, out.RegexValues = clone(values), slices.Clone(regexes)
		out.HostHeaderConfig = &types.HostHeaderConditionConfig{Values: clone(values), RegexValues: slices.Clone(regexes)}
	case fieldPath:
		if c.PathPatternConfig != nil {
			values, regexes = c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues
		}
		if err := checkPatterns(field, values, regexes, b, checkPathValue); err != nil {
			return out, err
		}
		out.Values, out.RegexValues = clone(values), slices.Clone(regexes)
		out.PathPatternConfig = &types.PathPatternConditionConfig{Values: clone(values), RegexValues: slices.Clone(regexes)}
	case fieldHeader:
		h := c.HttpHeaderConfig
		if err := headerName(store.Value(h.HttpHeaderName)); err != nil {
			return out, err
		}
		if err := checkPatterns(field, h.Values, h.RegexValues, b, checkPlainValue); err != nil {
			return out, err
		}
		out.HttpHeaderConfig = &types.HttpHeaderConditionConfig{
			HttpHeaderName: new(*h.HttpHeaderName), Values: clone(h.Values), RegexValues: slices.Clone(h.RegexValues),
		}
	case fieldMethod:
		if err := checkMethods(c.HttpRequestMethodConfig.Values, b); err != nil {
			return out, err
		}
		out.HttpRequestMethodConfig = &types.HttpRequestMethodConditionConfig{Values: clone(c.HttpRequestMethodConfig.Values)}
	case fieldQuery:
		pairs, err := checkQuery(c.QueryStringConfig.Values, b)
		if err != nil {
			return out, err
		}
		out.QueryStringConfig = &types.QueryStringConditionConfig{Values: pairs}
	case fieldSource:
		if err := checkSources(c.SourceIpConfig, b); err != nil {
			return out, err
		}
		out.SourceIpConfig = &types.SourceIpConditionConfig{Values: clone(c.SourceIpConfig.Values)}
	}
	return out, nil
}

// clone copies a list. The copy of nil is an empty list, as in AWS's answers.
func clone(in []string) []string { return append([]string{}, in...) }

// checkPatterns checks the values or regular expressions of a field that supports both.
func checkPatterns(field string, values, regexes []string, b *conditionsBudget, check func(string) error) error {
	if len(values) > 0 && len(regexes) > 0 || values == nil && regexes == nil {
		return exactlyOneError(field)
	}
	if len(values) == 0 && len(regexes) == 0 {
		return invalid(store.Unproven, "A condition value must be specified")
	}
	for _, v := range values {
		if err := tooLongError(field, v, conditionValueLength); err != nil {
			return err
		}
		if v == "" {
			return invalid(store.Unproven, "A condition value must be specified")
		}
		if err := check(v); err != nil {
			return err
		}
		b.wildcards += strings.Count(v, "*") + strings.Count(v, "?")
	}
	for _, v := range regexes {
		if err := tooLongError(field, v, conditionValueLength); err != nil {
			return err
		}
		if err := checkRegex(v); err != nil {
			return err
		}
	}
	b.values += len(values) + len(regexes)
	return nil
}

// checkRegex checks a regular expression. AWS supports the syntax of RE2
// without Unicode classes.
func checkRegex(v string) error {
	if _, err := regexp.Compile(v); err != nil || strings.Contains(v, `\p`) || strings.Contains(v, `\P`) {
		return invalid(store.Unproven, "The regular expression '%s' is not valid", v)
	}
	return nil
}

func tooLongError(field, v string, limit int) error {
	if len(v) > limit {
		return invalid(store.Unproven, "Condition value for '%s' cannot contain more than %d characters", field, limit)
	}
	return nil
}

func badCharacterError(v string) error {
	return invalid(store.Unproven, "Condition value '%s' contains a character that is not valid", v)
}

// checkHostValue checks a value of a host condition. It must have at least one dot, and only letters or wildcards after
// the last dot.
func checkHostValue(v string) error {
	if !hostPattern.MatchString(v) || !hostTail.MatchString(v) {
		return badCharacterError(v)
	}
	return nil
}

func checkPathValue(v string) error {
	if !pathPattern.MatchString(v) {
		return badCharacterError(v)
	}
	return nil
}

func checkPlainValue(v string) error {
	if !valuePattern.MatchString(v) {
		return badCharacterError(v)
	}
	return nil
}

func headerName(name string) error {
	if err := tooLongError(fieldHeader, name, conditionNameLength); err != nil {
		return err
	}
	if !headerPattern.MatchString(name) || strings.EqualFold(name, "host") {
		return invalid(store.Unproven, "HTTP header name '%s' is not valid", name)
	}
	return nil
}

func checkMethods(values []string, b *conditionsBudget) error {
	if len(values) == 0 {
		return invalid(store.Unproven, "A condition value must be specified")
	}
	for _, v := range values {
		if err := tooLongError(fieldMethod, v, conditionNameLength); err != nil {
			return err
		}
		if !methodPattern.MatchString(v) {
			return badCharacterError(v)
		}
	}
	b.values += len(values)
	return nil
}

func checkQuery(pairs []types.QueryStringKeyValuePair, b *conditionsBudget) ([]types.QueryStringKeyValuePair, error) {
	if len(pairs) == 0 {
		return nil, invalid(store.Unproven, "A condition value must be specified")
	}
	out := make([]types.QueryStringKeyValuePair, 0, len(pairs))
	for _, kv := range pairs {
		if kv.Value == nil || *kv.Value == "" {
			return nil, invalid(store.Unproven, "A condition value must be specified")
		}
		for _, v := range []string{store.Value(kv.Key), *kv.Value} {
			if err := tooLongError(fieldQuery, v, conditionValueLength); err != nil {
				return nil, err
			}
			if !valuePattern.MatchString(v) {
				return nil, badCharacterError(v)
			}
			b.wildcards += queryWildcards(v)
		}
		out = append(out, types.QueryStringKeyValuePair{Key: store.OptionalText(store.Value(kv.Key)), Value: new(*kv.Value)})
	}
	b.values += len(pairs)
	return out, nil
}

// queryWildcards counts the wildcards of a value that no backslash escapes.
func queryWildcards(v string) int {
	n := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '*', '?':
			n++
		}
	}
	return n
}

func checkSources(c *types.SourceIpConditionConfig, b *conditionsBudget) error {
	if c.IpAddressType != "" {
		return invalid(store.Unproven, "The 'IpAddressType' field of 'SourceIpConfig' is only supported for listeners of Network Load Balancers")
	}
	if len(c.Values) == 0 {
		return invalid(store.Unproven, "A condition value must be specified")
	}
	for _, v := range c.Values {
		if _, err := netip.ParsePrefix(v); err != nil || v == "255.255.255.255/32" {
			return invalid(store.Unproven, "The specified value '%s' is not a valid CIDR block", v)
		}
	}
	b.values += len(c.Values)
	return nil
}
