package elbv2

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// shape collects violations of the service model's constraints. AWS checks all constraints before any other
// condition, and reports all violations together. The texts of constraints are quoted in
// kubernetes-sigs/aws-load-balancer-controller#2396 ("must have length less than or equal to") and
// aws-cloudformation/cfn-lint#807 ("must have value less than or equal to").
type shape struct {
	faults []string
	// anyTags disables the check of the characters in tags.
	anyTags bool
}

// newShape returns the checks for a request with tags.
func (s *core) newShape() shape {
	return shape{anyTags: s.w.Config.ELB.AnyTagCharacters}
}

func (s *shape) add(value any, path, constraint string) {
	s.faults = append(s.faults, fmt.Sprintf("Value '%v' at '%s' failed to satisfy constraint: Member must %s", value, path, constraint))
}

// required reports a member that is null.
func (s *shape) required(path string, present bool) {
	if !present {
		s.faults = append(s.faults, fmt.Sprintf("Value null at '%s' failed to satisfy constraint: Member must not be null", path))
	}
}

// between checks the bounds of a number. It accepts null.
func (s *shape) between(path string, v *int32, low, high int32) {
	switch {
	case v == nil:
	case *v < low:
		s.add(*v, path, fmt.Sprintf("have value greater than or equal to %d", low))
	case *v > high:
		s.add(*v, path, fmt.Sprintf("have value less than or equal to %d", high))
	}
}

// length checks the number of characters of a text. It accepts null.
func (s *shape) length(path string, v *string, low, high int) {
	if v == nil {
		return
	}
	n := utf8.RuneCountInString(*v)
	switch {
	case n < low:
		s.add(*v, path, fmt.Sprintf("have length greater than or equal to %d", low))
	case n > high:
		s.add(*v, path, fmt.Sprintf("have length less than or equal to %d", high))
	}
}

// matches checks that a text matches a pattern. It accepts null.
func (s *shape) matches(path string, v *string, re *regexp.Regexp) {
	if v != nil && !re.MatchString(*v) {
		s.add(*v, path, "satisfy regular expression pattern: "+re.String())
	}
}

// count checks the length of a list that is present.
func (s *shape) count(path string, n, low, high int) {
	switch {
	case n < low:
		s.add("[]", path, fmt.Sprintf("have length greater than or equal to %d", low))
	case n > high:
		s.add(fmt.Sprintf("[%d items]", n), path, fmt.Sprintf("have length less than or equal to %d", high))
	}
}

// oneOf checks a value of an enumeration. It accepts the empty value, which means null.
func oneOf[E ~string](s *shape, path string, v E, allowed []E) {
	if v == "" || slices.Contains(allowed, v) {
		return
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	s.add(v, path, "satisfy enum value set: ["+strings.Join(names, ", ")+"]")
}

// required returns the error of a member that is null, for a request without other constraints.
func required(path string, present bool) error {
	var s shape
	s.required(path, present)
	return s.err()
}

// err returns the violations as one error, nil if there are none.
func (s *shape) err() error {
	switch n := len(s.faults); n {
	case 0:
		return nil
	case 1:
		return invalid(store.Quoted("kubernetes-sigs/aws-load-balancer-controller#2396"), "1 validation error detected: %s", s.faults[0])
	default:
		return invalid(store.Unproven, "%d validation errors detected: %s", n, strings.Join(s.faults, "; "))
	}
}
