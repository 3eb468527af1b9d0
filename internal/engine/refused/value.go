// Package refused finds the value of a step that AWS refuses, and the annotation or field that the value comes from. It also
// makes the AWS message easier to read, and divides such a step by its values.
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

// maxQuotedValue is the maximum length of a value in a message, in bytes.
const maxQuotedValue = 120

// constraintMessage matches the message of AWS about a value that violates a constraint of the API model.
var constraintMessage = regexp.MustCompile(`^\d+ validation errors? detected: Value '(.*?)' at '([^']*)' failed to satisfy constraint: (?:Member )?(.*)$`)

// quotedText matches a value in single quotes in an AWS message.
var quotedText = regexp.MustCompile(`'([^']*)'`)

// Value is a value of a step that AWS refuses.
type Value struct {
	Setting string // annotation (without its prefix) or field that the value comes from; "" if not known
	Value   string // "" if not known
	Why     string // the AWS message, in which the word "it" replaces the value
}

// Text returns the beginning of a message about the refusal. of names the resource that has the value; "" if the field of
// the finding already names the resource.
func (r Value) Text(of string) string {
	switch {
	case r.Value != "" && of != "":
		return fmt.Sprintf("AWS refuses %q for the %s: %s", failure.TruncateBytes(r.Value, maxQuotedValue), of, r.Why)
	case r.Value != "":
		return fmt.Sprintf("AWS refuses %q: %s", failure.TruncateBytes(r.Value, maxQuotedValue), r.Why)
	case of != "":
		return fmt.Sprintf("AWS refuses the %s: %s", of, r.Why)
	}
	return "AWS refuses the value: " + r.Why
}

// ValueOf returns the value of step s that AWS refused with err; false if the error is not from AWS. kind is the kind of the
// stack.
func ValueOf(kind model.Kind, s plan.Step, err error) (Value, bool) {
	var c failure.AWSError
	if !errors.As(err, &c) {
		return Value{}, false
	}
	words := failure.CleanMessage(c.ErrorMessage())
	r := Value{Why: cmp.Or(words, c.ErrorCode())}
	at := ""
	if m := constraintMessage.FindStringSubmatch(words); m != nil {
		r.Value, at, r.Why = m[1], m[2], "it "+m[3]
	}
	var known string
	r.Setting, known = annotationOfRefusedValue(s, c.ErrorCode(), strings.ToLower(at+" "+words))
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
		about = "" // the message must name the value, because no setting does
	}
	if r.Why = withoutValue(r.Why, about); c.ErrorCode() == "WAFNonexistentItemException" {
		r.Why = "no such web ACL exists in this region"
	}
	return r, true
}

// quotedValue returns the quoted value in an AWS message; "" if there is none or more than one.
func quotedValue(words string) string {
	m := quotedText.FindAllStringSubmatch(words, 2)
	if len(m) != 1 {
		return ""
	}
	return m[0][1]
}

// predicateAfterValue matches the words after a value in an AWS message if they form a sentence with the value as the
// subject.
var predicateAfterValue = regexp.MustCompile(`^ (must|cannot|can|is|are|does|do|has|was|not|contains|already|exceeds)\b`)

// withoutValue replaces a value in an AWS message by "it" if a predicate follows the value, and removes the text before it.
// It puts other values in double quotes. If it replaces no value, the message begins with a lower-case letter.
func withoutValue(words, value string) string {
	_, last, _ := strings.Cut(value, "=")
	for _, v := range []string{value, last} {
		for _, q := range []string{"'", `"`} {
			if _, rest, ok := strings.Cut(words, q+v+q); v != "" && ok && predicateAfterValue.MatchString(rest) {
				if strings.HasPrefix(rest, " not ") {
					rest = " is" + rest
				}
				return quotedText.ReplaceAllString("it"+rest, `"$1"`)
			}
		}
	}
	words = quotedText.ReplaceAllString(words, `"$1"`)
	if first, n := utf8.DecodeRuneInString(words); n < len(words) && unicode.IsUpper(first) {
		if second, _ := utf8.DecodeRuneInString(words[n:]); unicode.IsLower(second) || second == ' ' {
			words = string(unicode.ToLower(first)) + words[n:]
		}
	}
	return words
}

// annotationOfRefusedValue returns the annotation of Ingresses for the value of step s that AWS refused, and the value if
// the step contains it; "" if not known. code is the AWS error code, and words the message in lower case.
func annotationOfRefusedValue(s plan.Step, code, words string) (setting, value string) {
	prefix := ""
	if strings.HasPrefix(s.Address.ID, "FrontendNlb") {
		prefix = "frontend-nlb-"
	}
	switch do := s.Do.(type) {
	case plan.CreateTargetGroup:
		if setting, value = healthCheckSetting(do.Group.HealthCheck, words); setting != "" {
			return prefix + setting, value
		}
		if strings.Contains(withoutQuotes(words), "tag") {
			return prefix + "tags", entryInMessage(do.Tags, words)
		}
	case plan.SetHealthCheck:
		if setting, value = healthCheckSetting(do.Check, words); setting != "" {
			return prefix + setting, value
		}
	case plan.SetAttributes:
		return attributesSetting(do.Resource, prefix), entryInMessage(do.Values, words)
	case plan.SetTags:
		return prefix + "tags", entryInMessage(do.Put, words)
	case plan.CreateLoadBalancer:
		return loadBalancerSetting(do, prefix, words)
	case plan.SetSubnets:
		return prefix + "subnets", ""
	case plan.SetSecurityGroups:
		return prefix + "security-groups", ""
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

// entryInMessage returns the entry of a map whose key is in the AWS message words (in lower case), as "key=value". If the map
// has only one entry, it returns this entry. It returns "" if the message contains no key.
func entryInMessage(all map[string]string, words string) string {
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if len(all) == 1 || strings.Contains(words, "'"+strings.ToLower(k)+"'") {
			return k + "=" + all[k]
		}
	}
	return ""
}
