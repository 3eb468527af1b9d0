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

	maxConditionValueLength = 128
	maxConditionNameLength  = 40
)

var (
	hostPattern       = regexp.MustCompile(`^[A-Za-z0-9\-._*?]*$`)
	hostSuffixPattern = regexp.MustCompile(`\.[A-Za-z*?]+$`)
	pathPattern       = regexp.MustCompile(`^[A-Za-z0-9_\-.$/~"'@:+&*?]*$`)
	headerPattern     = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$")
	methodPattern     = regexp.MustCompile(`^[A-Z_-]+$`)
	valuePattern      = regexp.MustCompile(`^[\x20-\x7e]*$`)
)

// conditionFields returns the condition fields in the order in which AWS lists them in an error message.
func conditionFields() []string {
	return []string{fieldPath, fieldHost, fieldHeader, fieldMethod, fieldQuery, fieldSource}
}

// conditionConfigName returns the name of the request member that contains the values of a condition field.
func conditionConfigName(field string) string {
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

// conditionCounts contains the number of values and wildcards in all conditions of a rule, because AWS limits these totals.
type conditionCounts struct {
	valueCount, wildcardCount int
}

// checkConditions checks the conditions of an ALB rule, and returns them in the form in which AWS returns them.
func (s *listeners) checkConditions(in []types.RuleCondition) ([]types.RuleCondition, error) {
	var sh validation
	for i, c := range in {
		sh.checkLength(fmt.Sprintf("conditions.%d.member.field", i+1), c.Field, 0, 64)
	}
	if err := sh.err(); err != nil {
		return nil, err
	}
	if len(in) == 0 {
		return nil, validationError(store.UnprovenSource, "A condition must be specified")
	}
	var budget conditionCounts
	seen := map[string]bool{}
	out := make([]types.RuleCondition, 0, len(in))
	for _, c := range in {
		field := store.Value(c.Field)
		if !slices.Contains(conditionFields(), field) {
			return nil, validationError(store.UnprovenSource, "Condition field '%s' must be one of '[%s]'", field, strings.Join(conditionFields(), ","))
		}
		if seen[field] && field != fieldHeader && field != fieldQuery {
			return nil, validationError(store.UnprovenSource, "A rule can only have one '%s' condition", field)
		}
		seen[field] = true
		if err := checkConditionMembers(c, field); err != nil {
			return nil, err
		}
		stored, err := checkCondition(c, field, &budget)
		if err != nil {
			return nil, err
		}
		out = append(out, stored)
	}
	if most := s.quota(quotaConditionValues); budget.valueCount > most {
		return nil, validationError(store.UnprovenSource, "A rule can only have '%d' condition values and regex values", most)
	}
	if most := s.quota(quotaConditionWildcards); budget.wildcardCount > most {
		return nil, validationError(store.UnprovenSource, "A rule can only have '%d' condition wildcards", most)
	}
	return out, nil
}

// checkConditionMembers checks that a condition has exactly the request members for its field.
func checkConditionMembers(c types.RuleCondition, field string) error {
	configs := map[string]bool{
		fieldHost: c.HostHeaderConfig != nil, fieldPath: c.PathPatternConfig != nil, fieldHeader: c.HttpHeaderConfig != nil,
		fieldMethod: c.HttpRequestMethodConfig != nil, fieldQuery: c.QueryStringConfig != nil, fieldSource: c.SourceIpConfig != nil,
	}
	for _, other := range conditionFields() {
		if other != field && configs[other] {
			return validationError(store.UnprovenSource, "The '%s' field is not compatible with '%s'", conditionConfigName(other), field)
		}
	}
	legacy := field == fieldHost || field == fieldPath
	if !legacy && len(c.Values) > 0 {
		return validationError(store.UnprovenSource, "The 'Values' field is not compatible with '%s'", field)
	}
	if !legacy && len(c.RegexValues) > 0 {
		return validationError(store.UnprovenSource, "'RegexValues' is not supported for a condition of type '%s'", field)
	}
	top := len(c.Values) > 0 || len(c.RegexValues) > 0
	switch {
	case top && configs[field]:
		return validationError(store.ReportSource("aws-controllers-k8s/community#2759"), "You cannot provide both Values and '%s' for a condition of type '%s'", conditionConfigName(field), field)
	case !top && !configs[field] && legacy:
		return validationError(store.UnprovenSource, "For conditions of type '%s', you must specify the following fields: 'Values or RegexValues or %s'", field, conditionConfigName(field))
	case !configs[field] && !legacy:
		return validationError(store.UnprovenSource, "For conditions of type '%s', you must specify the following fields: '%s'", field, conditionConfigName(field))
	case len(c.Values) > 1:
		return validationError(store.UnprovenSource, "The '%s' field contains too many values; the limit is '1'", field)
	case len(c.Values) > 0 && len(c.RegexValues) > 0:
		return exactlyOneError(field)
	}
	return nil
}

func exactlyOneError(field string) error {
	return validationError(store.UnprovenSource, "You must provide exactly one of the following: ['Values' 'RegexValues'] for config of type '%s'", conditionConfigName(field))
}

// checkCondition checks the values of a condition and returns it in the form in which AWS returns it. It adds the number of
// values and wildcards to b.
func checkCondition(c types.RuleCondition, field string, b *conditionCounts) (types.RuleCondition, error) {
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
		out.Values, out.RegexValues = cloneNonNil(values), slices.Clone(regexes)
		out.HostHeaderConfig = &types.HostHeaderConditionConfig{Values: cloneNonNil(values), RegexValues: slices.Clone(regexes)}
	case fieldPath:
		if c.PathPatternConfig != nil {
			values, regexes = c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues
		}
		if err := checkPatterns(field, values, regexes, b, checkPathValue); err != nil {
			return out, err
		}
		out.Values, out.RegexValues = cloneNonNil(values), slices.Clone(regexes)
		out.PathPatternConfig = &types.PathPatternConditionConfig{Values: cloneNonNil(values), RegexValues: slices.Clone(regexes)}
	case fieldHeader:
		h := c.HttpHeaderConfig
		if err := checkHeaderName(store.Value(h.HttpHeaderName)); err != nil {
			return out, err
		}
		if err := checkPatterns(field, h.Values, h.RegexValues, b, checkPlainValue); err != nil {
			return out, err
		}
		out.HttpHeaderConfig = &types.HttpHeaderConditionConfig{
			HttpHeaderName: new(*h.HttpHeaderName), Values: cloneNonNil(h.Values), RegexValues: slices.Clone(h.RegexValues),
		}
	case fieldMethod:
		if err := checkMethods(c.HttpRequestMethodConfig.Values, b); err != nil {
			return out, err
		}
		out.HttpRequestMethodConfig = &types.HttpRequestMethodConditionConfig{Values: cloneNonNil(c.HttpRequestMethodConfig.Values)}
	case fieldQuery:
		pairs, err := checkQuery(c.QueryStringConfig.Values, b)
		if err != nil {
			return out, err
		}
		out.QueryStringConfig = &types.QueryStringConditionConfig{Values: pairs}
	case fieldSource:
		if err := checkSourceIPs(c.SourceIpConfig, b); err != nil {
			return out, err
		}
		out.SourceIpConfig = &types.SourceIpConditionConfig{Values: cloneNonNil(c.SourceIpConfig.Values)}
	}
	return out, nil
}

// cloneNonNil returns a copy of a list. The copy of nil is an empty list, as in AWS's responses.
func cloneNonNil(in []string) []string { return append([]string{}, in...) }

// checkPatterns checks the values or the regular expressions of a condition field that supports both. check checks one
// value. The function adds the number of values and wildcards to b.
func checkPatterns(field string, values, regexes []string, b *conditionCounts, check func(string) error) error {
	if len(values) > 0 && len(regexes) > 0 || values == nil && regexes == nil {
		return exactlyOneError(field)
	}
	if len(values) == 0 && len(regexes) == 0 {
		return validationError(store.UnprovenSource, "A condition value must be specified")
	}
	for _, v := range values {
		if err := checkValueLength(field, v, maxConditionValueLength); err != nil {
			return err
		}
		if v == "" {
			return validationError(store.UnprovenSource, "A condition value must be specified")
		}
		if err := check(v); err != nil {
			return err
		}
		b.wildcardCount += strings.Count(v, "*") + strings.Count(v, "?")
	}
	for _, v := range regexes {
		if err := checkValueLength(field, v, maxConditionValueLength); err != nil {
			return err
		}
		if err := checkRegex(v); err != nil {
			return err
		}
	}
	b.valueCount += len(values) + len(regexes)
	return nil
}

// checkRegex returns an error unless AWS supports the regular expression v: the RE2 syntax without Unicode classes.
func checkRegex(v string) error {
	if _, err := regexp.Compile(v); err != nil || strings.Contains(v, `\p`) || strings.Contains(v, `\P`) {
		return validationError(store.UnprovenSource, "The regular expression '%s' is not valid", v)
	}
	return nil
}

// checkValueLength returns an error if a condition value has more than limit bytes.
func checkValueLength(field, v string, limit int) error {
	if len(v) > limit {
		return validationError(store.UnprovenSource, "Condition value for '%s' cannot contain more than %d characters", field, limit)
	}
	return nil
}

func badCharacterError(v string) error {
	return validationError(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#2561"), "Condition value '%s' contains a character that is not valid", v)
}

// checkHostValue checks a value of a host-header condition. It must contain a dot, and only letters or wildcards after the
// last dot.
func checkHostValue(v string) error {
	if !hostPattern.MatchString(v) || !hostSuffixPattern.MatchString(v) {
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

func checkHeaderName(name string) error {
	if err := checkValueLength(fieldHeader, name, maxConditionNameLength); err != nil {
		return err
	}
	if !headerPattern.MatchString(name) || strings.EqualFold(name, "host") {
		return validationError(store.UnprovenSource, "HTTP header name '%s' is not valid", name)
	}
	return nil
}

func checkMethods(values []string, b *conditionCounts) error {
	if len(values) == 0 {
		return validationError(store.UnprovenSource, "A condition value must be specified")
	}
	for _, v := range values {
		if err := checkValueLength(fieldMethod, v, maxConditionNameLength); err != nil {
			return err
		}
		if !methodPattern.MatchString(v) {
			return badCharacterError(v)
		}
	}
	b.valueCount += len(values)
	return nil
}

func checkQuery(pairs []types.QueryStringKeyValuePair, b *conditionCounts) ([]types.QueryStringKeyValuePair, error) {
	if len(pairs) == 0 {
		return nil, validationError(store.UnprovenSource, "A condition value must be specified")
	}
	out := make([]types.QueryStringKeyValuePair, 0, len(pairs))
	for _, kv := range pairs {
		if kv.Value == nil || *kv.Value == "" {
			return nil, validationError(store.UnprovenSource, "A condition value must be specified")
		}
		for _, v := range []string{store.Value(kv.Key), *kv.Value} {
			if err := checkValueLength(fieldQuery, v, maxConditionValueLength); err != nil {
				return nil, err
			}
			if !valuePattern.MatchString(v) {
				return nil, badCharacterError(v)
			}
			b.wildcardCount += countQueryWildcards(v)
		}
		out = append(out, types.QueryStringKeyValuePair{Key: store.StringOrNil(store.Value(kv.Key)), Value: new(*kv.Value)})
	}
	b.valueCount += len(pairs)
	return out, nil
}

// countQueryWildcards counts the wildcards in a value, except wildcards after a backslash.
func countQueryWildcards(v string) int {
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

func checkSourceIPs(c *types.SourceIpConditionConfig, b *conditionCounts) error {
	if c.IpAddressType != "" {
		return validationError(store.UnprovenSource, "The 'IpAddressType' field of 'SourceIpConfig' is only supported for listeners of Network Load Balancers")
	}
	if len(c.Values) == 0 {
		return validationError(store.UnprovenSource, "A condition value must be specified")
	}
	for _, v := range c.Values {
		if _, err := netip.ParsePrefix(v); err != nil || v == "255.255.255.255/32" {
			return validationError(store.UnprovenSource, "The specified value '%s' is not a valid CIDR block", v)
		}
	}
	b.valueCount += len(c.Values)
	return nil
}
