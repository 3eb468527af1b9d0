package elbv2

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// validation collects violations of the service model's constraints. AWS checks all constraints before any other
// condition, and reports all violations together. The texts of constraints are quoted in
// kubernetes-sigs/aws-load-balancer-controller#2396 ("must have length less than or equal to") and
// aws-cloudformation/cfn-lint#807 ("must have value less than or equal to").
type validation struct {
	violations []string
	// anyTagCharacters disables the check of the characters in tags.
	anyTagCharacters bool
}

// newValidation returns a validation for a request with tags.
func (s *core) newValidation() validation {
	return validation{anyTagCharacters: s.store.Config.ELB.AnyTagCharacters}
}

func (s *validation) addViolation(value any, path, constraint string) {
	s.violations = append(s.violations, fmt.Sprintf("Value '%v' at '%s' failed to satisfy constraint: Member must %s", value, path, constraint))
}

// checkPresent reports a member that is null.
func (s *validation) checkPresent(path string, present bool) {
	if !present {
		s.violations = append(s.violations, fmt.Sprintf("Value null at '%s' failed to satisfy constraint: Member must not be null", path))
	}
}

// checkRange checks the bounds of a number. It accepts null.
func (s *validation) checkRange(path string, v *int32, low, high int32) {
	switch {
	case v == nil:
	case *v < low:
		s.addViolation(*v, path, fmt.Sprintf("have value greater than or equal to %d", low))
	case *v > high:
		s.addViolation(*v, path, fmt.Sprintf("have value less than or equal to %d", high))
	}
}

// checkLength checks the number of characters of a text. It accepts null.
func (s *validation) checkLength(path string, v *string, low, high int) {
	if v == nil {
		return
	}
	n := utf8.RuneCountInString(*v)
	switch {
	case n < low:
		s.addViolation(*v, path, fmt.Sprintf("have length greater than or equal to %d", low))
	case n > high:
		s.addViolation(*v, path, fmt.Sprintf("have length less than or equal to %d", high))
	}
}

// checkPattern checks that a text matches a pattern. It accepts null.
func (s *validation) checkPattern(path string, v *string, re *regexp.Regexp) {
	if v != nil && !re.MatchString(*v) {
		s.addViolation(*v, path, "satisfy regular expression pattern: "+re.String())
	}
}

// checkCount checks the length of a list that is present.
func (s *validation) checkCount(path string, n, low, high int) {
	switch {
	case n < low:
		s.addViolation("[]", path, fmt.Sprintf("have length greater than or equal to %d", low))
	case n > high:
		s.addViolation(fmt.Sprintf("[%d items]", n), path, fmt.Sprintf("have length less than or equal to %d", high))
	}
}

// checkEnum checks a value of an enumeration. It accepts the empty value, which means null.
func checkEnum[E ~string](s *validation, path string, v E, allowed []E) {
	if v == "" || slices.Contains(allowed, v) {
		return
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	s.addViolation(v, path, "satisfy enum value set: ["+strings.Join(names, ", ")+"]")
}

// requiredError returns the error of a member that is null, for a request without other constraints.
func requiredError(path string, present bool) error {
	var s validation
	s.checkPresent(path, present)
	return s.err()
}

// err returns the violations as one error, nil if there are none.
func (s *validation) err() error {
	switch n := len(s.violations); n {
	case 0:
		return nil
	case 1:
		return validationError(store.Quoted("kubernetes-sigs/aws-load-balancer-controller#2396"), "1 validation error detected: %s", s.violations[0])
	default:
		return validationError(store.Unproven, "%d validation errors detected: %s", n, strings.Join(s.violations, "; "))
	}
}
