package elbv2

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// validation collects the members of a request that violate constraints of the service model. AWS checks all constraints
// before any other condition, and reports all violations in one error. The texts of the violations are quoted in
// kubernetes-sigs/aws-load-balancer-controller#2396 ("must have length less than or equal to") and
// aws-cloudformation/cfn-lint#807 ("must have value less than or equal to").
type validation struct {
	violations []string
	// anyTagCharacters makes validateTags accept any characters in tags.
	anyTagCharacters bool
}

// newValidation returns an empty validation for a request with tags.
func (s *core) newValidation() validation {
	return validation{anyTagCharacters: s.store.Config.ELB.AnyTagCharacters}
}

func (s *validation) addViolation(value any, path, constraint string) {
	s.violations = append(s.violations, fmt.Sprintf("Value '%v' at '%s' failed to satisfy constraint: Member must %s", value, path, constraint))
}

// checkPresent adds a violation if the member at path is not present.
func (s *validation) checkPresent(path string, present bool) {
	if !present {
		s.violations = append(s.violations, fmt.Sprintf("Value null at '%s' failed to satisfy constraint: Member must not be null", path))
	}
}

// checkRange adds a violation if a number is out of range. It accepts nil.
func (s *validation) checkRange(path string, v *int32, low, high int32) {
	switch {
	case v == nil:
	case *v < low:
		s.addViolation(*v, path, fmt.Sprintf("have value greater than or equal to %d", low))
	case *v > high:
		s.addViolation(*v, path, fmt.Sprintf("have value less than or equal to %d", high))
	}
}

// checkLength adds a violation if a string has too few or too many characters. It accepts nil.
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

// checkPattern adds a violation if a string does not match re. It accepts nil.
func (s *validation) checkPattern(path string, v *string, re *regexp.Regexp) {
	if v != nil && !re.MatchString(*v) {
		s.addViolation(*v, path, "satisfy regular expression pattern: "+re.String())
	}
}

// checkCount adds a violation if a list has too few or too many items (n).
func (s *validation) checkCount(path string, n, low, high int) {
	switch {
	case n < low:
		s.addViolation("[]", path, fmt.Sprintf("have length greater than or equal to %d", low))
	case n > high:
		s.addViolation(fmt.Sprintf("[%d items]", n), path, fmt.Sprintf("have length less than or equal to %d", high))
	}
}

// checkEnum adds a violation if a value is not in the enumeration. It accepts the empty value, which means that the member
// is not present.
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

// requiredError returns an error if the member at path is not present. It is for requests that have no other constraint.
func requiredError(path string, present bool) error {
	var s validation
	s.checkPresent(path, present)
	return s.err()
}

// err returns all violations as one error, or nil if there are none.
func (s *validation) err() error {
	switch n := len(s.violations); n {
	case 0:
		return nil
	case 1:
		return validationError(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#2396"), "1 validation error detected: %s", s.violations[0])
	default:
		return validationError(store.UnprovenSource, "%d validation errors detected: %s", n, strings.Join(s.violations, "; "))
	}
}
