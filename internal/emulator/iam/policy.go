// Package iam evaluates IAM policies as AWS documents it: actions and resources with wildcards, conditions on keys of the
// request, and an explicit deny that takes precedence over any allow. Parse returns an error for an element or operator that
// is not supported.
package iam

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/glob"
)

// Policy is a policy document.
type Policy struct {
	Version   string
	Statement []Statement
}

// Statement allows or denies actions on resources under conditions.
type Statement struct {
	Sid      string `json:",omitempty"`
	Effect   string
	Action   Strings
	Resource Strings
	// Condition lists the values of each condition key, by operator and key.
	Condition map[string]map[string]Strings `json:",omitempty"`
}

// Strings is a list of strings. In JSON it may also be a single string.
type Strings []string

// UnmarshalJSON reads a list or a single string.
func (s *Strings) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = Strings{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// Parse reads a policy document.
func Parse(document []byte) (Policy, error) {
	var p Policy
	if err := json.Unmarshal(document, &p); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// UnmarshalJSON reads a document, and returns an error for elements that are not supported.
func (p *Policy) UnmarshalJSON(data []byte) error {
	type plain Policy
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(p)); err != nil {
		return err
	}
	return p.check()
}

func (p Policy) check() error {
	if p.Version != "2012-10-17" {
		return fmt.Errorf("policy: version %q is not known", p.Version)
	}
	for i, s := range p.Statement {
		switch {
		case s.Effect != "Allow" && s.Effect != "Deny":
			return fmt.Errorf("policy: statement %d (%s): effect %q is neither Allow nor Deny", i, s.Sid, s.Effect)
		case len(s.Action) == 0 || len(s.Resource) == 0:
			return fmt.Errorf("policy: statement %d (%s): action or resource is missing", i, s.Sid)
		}
		for operator := range s.Condition {
			if _, ok := conditionOperators[operator]; !ok {
				return fmt.Errorf("policy: statement %d (%s): condition operator %q is not known to this emulator", i, s.Sid, operator)
			}
		}
	}
	return nil
}

// Request is a permission that a call needs.
type Request struct {
	// Action is an action, for example "ec2:CreateTags".
	Action string
	// Resource is an ARN. It is empty for an action without resources; then only the resource "*" of a statement matches.
	Resource string
	// Keys maps condition keys to their values in the request.
	Keys map[string]string
}

// Decision is the result of the evaluation of policies for a request.
type Decision struct {
	IsAllowed bool
	// IsExplicitDeny reports whether a statement denies the request.
	IsExplicitDeny bool
	// Sids has the ID of the statement that denies the request, or the IDs of all statements that allow it.
	Sids []string
}

// Evaluate evaluates policies for a request. A request is denied unless a statement allows it.
func Evaluate(policies []Policy, r Request) Decision {
	var d Decision
	for _, p := range policies {
		for _, s := range p.Statement {
			if !s.matches(r) {
				continue
			}
			if s.Effect == "Deny" {
				return Decision{IsExplicitDeny: true, Sids: []string{s.Sid}}
			}
			d.IsAllowed = true
			d.Sids = append(d.Sids, s.Sid)
		}
	}
	return d
}

func (s Statement) matches(r Request) bool {
	if !slices.ContainsFunc(s.Action, func(p string) bool { return matchesPattern(strings.ToLower(p), strings.ToLower(r.Action)) }) {
		return false
	}
	if !slices.ContainsFunc(s.Resource, func(p string) bool { return p == "*" || r.Resource != "" && matchesPattern(p, r.Resource) }) {
		return false
	}
	for operator, keys := range s.Condition {
		holds := conditionOperators[operator]
		for key, values := range keys {
			have, there := conditionValue(r.Keys, key)
			if !holds(have, there, values) {
				return false
			}
		}
	}
	return true
}

// conditionValue returns the value of a condition key, and whether the request has the key. Names of keys are not
// case-sensitive.
func conditionValue(keys map[string]string, name string) (string, bool) {
	if v, ok := keys[name]; ok {
		return v, true
	}
	for k, v := range keys {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return "", false
}

// conditionOperators maps the supported condition operators to functions that evaluate them. have is the value in the
// request, and there reports whether the request has the key. Negated operators are true if the request does not have the
// key.
var conditionOperators = map[string]func(have string, there bool, values []string) bool{
	"StringEquals":    func(have string, there bool, values []string) bool { return there && slices.Contains(values, have) },
	"StringNotEquals": func(have string, there bool, values []string) bool { return !there || !slices.Contains(values, have) },
	"StringLike":      func(have string, there bool, values []string) bool { return there && matchesAnyPattern(values, have) },
	"StringNotLike":   func(have string, there bool, values []string) bool { return !there || !matchesAnyPattern(values, have) },
	"ArnLike":         func(have string, there bool, values []string) bool { return there && matchesAnyPattern(values, have) },
	"ArnEquals":       func(have string, there bool, values []string) bool { return there && matchesAnyPattern(values, have) },
	"StringEqualsIfExists": func(have string, there bool, values []string) bool {
		return !there || slices.Contains(values, have)
	},
	"Null": func(_ string, there bool, values []string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return (v == "true") != there })
	},
}

func matchesAnyPattern(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchesPattern(p, s) })
}

// matchesPattern reports whether a text matches a pattern with the wildcards * and ?. Wildcards also match slashes and
// colons.
func matchesPattern(pattern, s string) bool { return glob.Match(pattern, s, glob.LiteralBackslash) }
