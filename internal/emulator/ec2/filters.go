package ec2

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const maxFilterValues = 200

// filters maps the name of each filter of a describe operation to a function that returns the values of a resource. A filter
// in a request selects a resource if one of the values in the request matches one of the values of the resource.
type filters[T any] map[string]func(T) []string

// filterItems returns the items that match all filters of a request (asked). known has the filters of the operation. tags
// returns the tags of an item; it is nil for resources without tags.
func filterItems[T any](items []T, asked []types.Filter, known filters[T], tags func(T) map[string]string) ([]T, *store.Error) {
	values := 0
	for _, f := range asked {
		name := aws.ToString(f.Name)
		isTag := tags != nil && (strings.HasPrefix(name, "tag:") || name == "tag-key" || name == "tag-value")
		if _, ok := known[name]; !ok && !isTag {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The filter '%s' is invalid", name)
		}
		if len(f.Values) == 0 {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The filter '%s' must have at least one value", name)
		}
		values += len(f.Values)
	}
	if values > maxFilterValues {
		return nil, store.Errorf(store.UnprovenSource, "FilterLimitExceeded", "The maximum length for a filter value list is %d", maxFilterValues)
	}
	var out []T
	for _, item := range items {
		if matchesAll(item, asked, known, tags) {
			out = append(out, item)
		}
	}
	return out, nil
}

func matchesAll[T any](item T, asked []types.Filter, known filters[T], tags func(T) map[string]string) bool {
	for _, f := range asked {
		if !slices.ContainsFunc(filterValues(item, *f.Name, known, tags), func(have string) bool {
			return slices.ContainsFunc(f.Values, func(want string) bool { return matchesWildcard(want, have) })
		}) {
			return false
		}
	}
	return true
}

func filterValues[T any](item T, name string, known filters[T], tags func(T) map[string]string) []string {
	if values, ok := known[name]; ok {
		return values(item)
	}
	have := tags(item)
	if key, ok := strings.CutPrefix(name, "tag:"); ok {
		if value, ok := have[key]; ok {
			return []string{value}
		}
		return nil
	}
	var out []string
	for _, key := range store.SortedKeys(have) {
		if name == "tag-key" {
			out = append(out, key)
		} else {
			out = append(out, have[key])
		}
	}
	return out
}

// matchesWildcard reports whether a filter value (pattern) matches s. In the pattern, "*" matches any characters, "?"
// matches any single character, and a backslash escapes the next character. It uses a regular expression, whose time is
// linear for any number of "*".
func matchesWildcard(pattern, s string) bool {
	if !strings.ContainsAny(pattern, `*?\`) {
		return pattern == s
	}
	var re strings.Builder
	escaped := false
	for _, c := range pattern {
		switch {
		case !escaped && c == '\\':
			escaped = true
			continue
		case !escaped && c == '*':
			re.WriteString(".*")
		case !escaped && c == '?':
			re.WriteString(".")
		default:
			re.WriteString(regexp.QuoteMeta(string(c)))
		}
		escaped = false
	}
	if escaped { // a backslash at the end is literal
		re.WriteString(`\\`)
	}
	matched, err := regexp.MatchString(`(?s)\A`+re.String()+`\z`, s)
	return err == nil && matched
}

// textValue returns s as the only value of a resource for a filter, or no value if s is empty.
func textValue(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// boolValue returns "true" or "false" as the only value of a resource for a filter.
func boolValue(b bool) []string { return []string{strconv.FormatBool(b)} }
