package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Request is one admission request of the API server.
type Request struct {
	Operation admissionv1.Operation
	// Namespace of the request; that of the object itself can be empty.
	Namespace string
	// Object is the proposed state, Old the stored one, which only updates have.
	Object, Old json.RawMessage
}

// Answer is the answer to the API server. The zero value allows without a message.
type Answer struct {
	Refusal *Refusal
	// Warnings are shown to the client that made the request, whatever the answer.
	Warnings []string
	// Changes are made to the object, in this order.
	Changes []Change
}

// Refusal is why a request is denied.
type Refusal struct {
	// Check is the name of the check in metrics.
	Check   string
	Message string
}

// Change is an operation of a JSON patch. Only "add" is used: on a member that exists it replaces.
// Changes are written by hand rather than found by comparing two encodings, so that fields which
// this version does not have stay as they are.
type Change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// setChange adds or replaces a member, or adds an item where the path ends in "/-".
func setChange(path string, value any) Change { return Change{Op: "add", Path: path, Value: value} }

// escapePointer escapes a key for use in a path.
func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// rule decides on a request. An error is internal: there is no answer, and the failure policy of
// the webhook decides on the request.
type rule func(ctx context.Context, r Request) (Answer, error)

func deny(check, format string, args ...any) Answer {
	return Answer{Refusal: &Refusal{Check: check, Message: finding.Printable(fmt.Sprintf(format, args...))}}
}

// undecodable is the refusal of an object that is not of its kind.
type undecodable struct{ err error }

func (u undecodable) Error() string { return "the object cannot be decoded: " + u.err.Error() }

func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return undecodable{err}
	}
	return nil
}
