package elbv2

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// attribute is an attribute of load balancers, target groups or listeners. check returns an error if a new value is invalid.
type attribute struct {
	key          string
	initialValue string
	check        func(key, value string) error
}

var attributeKeyPattern = regexp.MustCompile(`^[a-zA-Z0-9._]+$`)

// attributeSetting is an attribute in a request to modify attributes. key and value are nil if the request does not contain
// them.
type attributeSetting struct {
	key, value *string
}

// validateAttributes checks that a list of attributes satisfies the constraints of the API model. limit is the maximum
// number of attributes.
func (s *validation) validateAttributes(in []attributeSetting, limit int) {
	s.checkCount("attributes", len(in), 1, limit)
	for i, a := range in {
		at := fmt.Sprintf("attributes.%d.member.", i+1)
		s.checkLength(at+"key", a.key, 0, 256)
		s.checkPattern(at+"key", a.key, attributeKeyPattern)
		s.checkLength(at+"value", a.value, 0, 1024)
	}
}

// attributeSchema contains the attributes of a type of resource. isSupported reports whether one particular resource has an
// attribute.
type attributeSchema struct {
	title       string // type of resource at the beginning of error messages, such as "Load balancer"
	attributes  []attribute
	isSupported func(key string) bool
	// unsupportedError returns the error for an attribute that the resource does not have.
	unsupportedError func(key string) error
}

// find returns the attribute with a key, and whether it exists.
func (sp attributeSchema) find(key string) (attribute, bool) {
	for _, a := range sp.attributes {
		if a.key == key {
			return a, true
		}
	}
	return attribute{}, false
}

// merge returns a copy of have with the attributes in a request applied, or the error for the first invalid attribute.
func (sp attributeSchema) merge(have map[string]string, in []attributeSetting) (map[string]string, error) {
	next := map[string]string{}
	maps.Copy(next, have)
	seen := map[string]bool{}
	for _, a := range in {
		key, value := store.Value(a.key), store.Value(a.value)
		known, ok := sp.find(key)
		if !ok {
			return nil, validationError(store.ReportSource("hashicorp/terraform-provider-aws#19953"), "%s attribute key '%s' is not recognized", sp.title, key)
		}
		if seen[key] {
			return nil, validationError(store.UnprovenSource, "Attribute key '%s' has been specified more than once", key)
		}
		seen[key] = true
		if !sp.isSupported(key) {
			return nil, sp.unsupportedError(key)
		}
		if err := known.check(key, value); err != nil {
			return nil, err
		}
		next[key] = value
	}
	return next, nil
}

// initialValues returns the initial values of the attributes that the resource has.
func (sp attributeSchema) initialValues() map[string]string {
	out := map[string]string{}
	for _, a := range sp.attributes {
		if sp.isSupported(a.key) {
			out[a.key] = a.initialValue
		}
	}
	return out
}

func acceptAnyText(string, string) error { return nil }

func checkBoolean(key, value string) error {
	if value != "true" && value != "false" {
		return validationError(store.UnprovenSource, "The value of '%s' must be 'true' or 'false', but was '%s'", key, value)
	}
	return nil
}

func checkNumberIn(low, high int) func(key, value string) error {
	return func(key, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < low || n > high {
			return validationError(store.UnprovenSource, "'%s' value '%s' must be between '%d-%d' inclusive", key, value, low, high)
		}
		return nil
	}
}

func checkZeroOrNumberIn(low, high int) func(key, value string) error {
	return func(key, value string) error {
		if value == "0" {
			return nil
		}
		return checkNumberIn(low, high)(key, value)
	}
}

func checkOffOrNumberIn(low, high int) func(key, value string) error {
	return func(key, value string) error {
		if value == "off" {
			return nil
		}
		return checkNumberIn(low, high)(key, value)
	}
}

func checkOneOf(values ...string) func(key, value string) error {
	return func(key, value string) error {
		if !slices.Contains(values, value) {
			return validationError(store.UnprovenSource, "The value of '%s' must be one of '%s', but was '%s'", key, strings.Join(values, ", "), value)
		}
		return nil
	}
}
