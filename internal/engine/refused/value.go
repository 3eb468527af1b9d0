// Package refused finds out which value of a step AWS refuses, which setting of users it comes from, and what AWS says of it, in
// readable words.
package refused

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// mostValue is the bound of a value that a message quotes.
const mostValue = 120

// constraint is how AWS refuses a value before it looks at it closely.
var constraint = regexp.MustCompile(`^\d+ validation errors? detected: Value '(.*?)' at '([^']*)' failed to satisfy constraint: (?:Member )?(.*)$`)

// quoted is a value in AWS's words.
var quoted = regexp.MustCompile(`'([^']*)'`)

// Value is what AWS refuses of a step, in words.
type Value struct {
	Setting string // where the value comes from, as objects of the stack spell it, without prefix; "" if not known
	Value   string // "" if not known
	Why     string
}

// Text returns the first part of a message. of names the thing that the value is for, "" if the setting does.
func (r Value) Text(of string) string {
	switch {
	case r.Value != "" && of != "":
		return fmt.Sprintf("AWS refuses %q for the %s: %s", failure.Cut(r.Value, mostValue), of, r.Why)
	case r.Value != "":
		return fmt.Sprintf("AWS refuses %q: %s", failure.Cut(r.Value, mostValue), r.Why)
	case of != "":
		return fmt.Sprintf("AWS refuses the %s: %s", of, r.Why)
	}
	return "AWS refuses it: " + r.Why
}

// Of finds out which value of a step of a stack of the kind AWS refuses; false if the error is not AWS's.
func Of(kind model.Kind, s plan.Step, err error) (Value, bool) {
	var c failure.Coded
	if !errors.As(err, &c) {
		return Value{}, false
	}
	words := failure.Tidy(c.ErrorMessage())
	r := Value{Why: cmp.Or(words, c.ErrorCode())}
	at := ""
	if m := constraint.FindStringSubmatch(words); m != nil {
		r.Value, at, r.Why = m[1], m[2], "it "+m[3]
	}
	var known string
	r.Setting, known = settingOf(s, c.ErrorCode(), strings.ToLower(at+" "+words))
	switch {
	case r.Setting == "":
	case kind.HasRules():
		r.Setting = naming.SettingName(kind, r.Setting)
	default:
		r.Setting = naming.SettingField(kind, r.Setting)
	}
	if known != "" {
		r.Value = known
	}
	if r.Value == "" {
		r.Value = quotedValue(words)
	}
	about := r.Value
	if r.Setting == "" || strings.HasPrefix(r.Setting, "spec.") {
		about = "" // AWS's words say what the value is
	}
	if r.Why = withoutValue(r.Why, about); c.ErrorCode() == "WAFNonexistentItemException" {
		r.Why = "no such web ACL exists in this region"
	}
	return r, true
}

// quotedValue returns the value that AWS's words quote, "" if there is none or several.
func quotedValue(words string) string {
	m := quoted.FindAllStringSubmatch(words, 2)
	if len(m) != 1 {
		return ""
	}
	return m[0][1]
}

// predicate is what may follow a value in AWS's words.
var predicate = regexp.MustCompile(`^ (must|cannot|can|is|are|does|do|has|was|not|contains|already|exceeds)\b`)

// withoutValue puts "it" in place of a value at the beginning of AWS's words, and writes the others as ours.
func withoutValue(words, value string) string {
	_, last, _ := strings.Cut(value, "=")
	for _, v := range []string{value, last} {
		for _, q := range []string{"'", `"`} {
			if _, rest, ok := strings.Cut(words, q+v+q); v != "" && ok && predicate.MatchString(rest) {
				if strings.HasPrefix(rest, " not ") {
					rest = " is" + rest
				}
				return quoted.ReplaceAllString("it"+rest, `"$1"`)
			}
		}
	}
	words = quoted.ReplaceAllString(words, `"$1"`)
	if first, n := utf8.DecodeRuneInString(words); n < len(words) && unicode.IsUpper(first) {
		if second, _ := utf8.DecodeRuneInString(words[n:]); unicode.IsLower(second) || second == ' ' {
			words = string(unicode.ToLower(first)) + words[n:]
		}
	}
	return words
}

// settingOf returns the setting, by its name in Ingresses, that a refused value of a step comes from, and the value
// where the step has it. words are AWS's, in lower case.
func settingOf(s plan.Step, code, words string) (setting, value string) {
	front := ""
	if strings.HasPrefix(s.Address.ID, "FrontendNlb") {
		front = "frontend-nlb-"
	}
	switch do := s.Do.(type) {
	case plan.CreateTargetGroup:
		if setting, value = checkSetting(do.Group.HealthCheck, words); setting != "" {
			return front + setting, value
		}
		if strings.Contains(words, "tag") {
			return front + "tags", oneOf(do.Tags, words)
		}
	case plan.SetHealthCheck:
		if setting, value = checkSetting(do.Check, words); setting != "" {
			return front + setting, value
		}
	case plan.SetAttributes:
		return attributesSetting(do.Of, front), oneOf(do.Values, words)
	case plan.SetTags:
		return front + "tags", oneOf(do.Put, words)
	case plan.CreateLoadBalancer:
		return loadBalancerSetting(do, front, words)
	case plan.SetSubnets:
		return front + "subnets", ""
	case plan.SetSecurityGroups:
		return front + "security-groups", ""
	case plan.SetAddressType:
		return "ip-address-type", string(do.Type)
	case plan.SetCapacity:
		return "minimum-load-balancer-capacity", fmt.Sprintf("CapacityUnits=%d", do.Units)
	case plan.AddCertificate:
		return "certificate-arn", do.ARN
	case plan.SetWebACL:
		return "wafv2-acl-arn", do.ARN
	case plan.SetClassicACL:
		return "waf-acl-id", do.ID
	case plan.ChangeIngress:
		return sourcesSetting(do)
	case plan.CreateListener:
		return listenerSetting(do.Settings, code, words, do.Tags)
	case plan.ModifyListener:
		return listenerSetting(do.Settings, code, words, nil)
	}
	return "", ""
}

// oneOf returns the entry of a map that AWS's words name, "key=value"; "" if it cannot be said.
func oneOf(all map[string]string, words string) string {
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if len(all) == 1 || strings.Contains(words, "'"+strings.ToLower(k)+"'") {
			return k + "=" + all[k]
		}
	}
	return ""
}
