// Package rules checks a GlobalAccelerator without reading AWS or other objects. The webhook denies objects with violations,
// except for violations that are only advice. The translation decides about advice, because it has more facts, such as the
// ports of an endpoint. Users choose the size of the object, so the checks must not take quadratic time.
package rules
