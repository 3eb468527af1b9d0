package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// canonicalText returns a value as JSON without nulls and empty lists, for comparison.
func canonicalText(v any) string {
	text, err := json.Marshal(v)
	if err == nil {
		var value any
		if err = json.Unmarshal(text, &value); err == nil {
			text, err = json.Marshal(prunedValue(value))
		}
	}
	if err != nil {
		return fmt.Sprintf("%+v: %v", v, err)
	}
	return string(text)
}

// prunedValue returns a decoded JSON value without object fields that are null or an empty list.
func prunedValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			if p := prunedValue(v[k]); p != nil {
				out[k] = p
			}
		}
		return out
	case []any:
		if len(v) == 0 {
			return nil
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = prunedValue(v[i])
		}
		return out
	}
	return v
}

func sameActions(want, have []elbtypes.Action) bool {
	if len(want) != len(have) {
		return false
	}
	in := func(list []elbtypes.Action) []elbtypes.Action {
		out := slices.Clone(list)
		if !slices.ContainsFunc(out, func(a elbtypes.Action) bool { return a.Order == nil }) {
			slices.SortStableFunc(out, func(a, b elbtypes.Action) int { return cmp.Compare(*a.Order, *b.Order) })
		}
		return out
	}
	have = in(have)
	for i, w := range in(want) {
		if actionText(w, w) != actionText(have[i], w) {
			return false
		}
	}
	return true
}

// actionText returns action a as text, for the comparison with the desired action want. The text contains the stickiness of
// target groups only if want has it, and never the weight of a single target group. Missing fields of redirects get their
// defaults.
func actionText(a, want elbtypes.Action) string {
	a.Order, a.TargetGroupArn = nil, nil
	if a.ForwardConfig != nil {
		f := *a.ForwardConfig
		f.TargetGroups = sortedByKey(f.TargetGroups, func(g elbtypes.TargetGroupTuple) string { return stringValue(g.TargetGroupArn) })
		if len(f.TargetGroups) == 1 {
			f.TargetGroups[0].Weight = nil
		}
		if want.ForwardConfig == nil || want.ForwardConfig.TargetGroupStickinessConfig == nil {
			f.TargetGroupStickinessConfig = nil
		}
		a.ForwardConfig = &f
	}
	if a.RedirectConfig != nil {
		r := *a.RedirectConfig
		for _, f := range []struct {
			field **string
			value string
		}{{&r.Host, "#{host}"}, {&r.Path, "/#{path}"}, {&r.Port, "#{port}"}, {&r.Protocol, "#{protocol}"}, {&r.Query, "#{query}"}} {
			if *f.field == nil {
				*f.field = aws.String(f.value)
			}
		}
		a.RedirectConfig = &r
	}
	return canonicalText(a)
}

// sameConditions reports whether two lists have the same conditions, in any order of fields. The values of a condition must
// have the same order.
func sameConditions(want, have []elbtypes.RuleCondition) bool {
	in := func(list []elbtypes.RuleCondition) string {
		out := sortedByKey(list, func(c elbtypes.RuleCondition) string { return stringValue(c.Field) })
		for i := range out {
			out[i].Values, out[i].RegexValues = nil, nil
		}
		return canonicalText(out)
	}
	return in(want) == in(have)
}

func sameTransforms(want, have []elbtypes.RuleTransform) bool {
	in := func(list []elbtypes.RuleTransform) string {
		return canonicalText(sortedByKey(list, func(t elbtypes.RuleTransform) string { return string(t.Type) }))
	}
	return in(want) == in(have)
}
