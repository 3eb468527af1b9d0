package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Request is an admission request of the API server.
type Request struct {
	Operation admissionv1.Operation
	// Namespace is the namespace of the request. The namespace in the object can be empty.
	Namespace string
	// Object is the proposed object.
	Object json.RawMessage
	// Old is the stored object of an update.
	Old json.RawMessage
}

// Response is the answer to the API server. The zero value allows the request without a message.
type Response struct {
	Refusal *Denial
	// Warnings are shown to the client that made the request, for allowed and denied requests.
	Warnings []string
	// Changes are applied to the object, in this order.
	Changes []PatchOperation
}

// Denial is the reason why a request is denied.
type Denial struct {
	// Check is the name of the check in metrics.
	Check   string
	Message string
}

// PatchOperation is an operation of a JSON patch. Changes are not computed from two encodings of an object, because a
// computed patch would remove fields that are unknown to this version of the controller.
type PatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// newSetChange returns the change that adds or replaces a field, or that appends an item if the path ends in "/-".
func newSetChange(path string, value any) PatchOperation {
	return PatchOperation{Op: "add", Path: path, Value: value}
}

// reviewFunc returns the answer to a request. If it returns an error, the request gets no answer, and the failure policy of
// the webhook applies.
type reviewFunc func(ctx context.Context, r Request) (Response, error)

// deny returns an answer that denies a request.
func deny(check, format string, args ...any) Response {
	return Response{Refusal: &Denial{Check: check, Message: finding.EscapeNonPrintable(fmt.Sprintf(format, args...))}}
}

// decodeError is the error for an object that cannot be decoded as its kind.
type decodeError struct{ err error }

// Error implements error.
func (u decodeError) Error() string { return "the object cannot be decoded: " + u.err.Error() }

// decode decodes raw, the proposed or the stored object of the request, into obj. The object gets the namespace of the
// request. Each returned error is a decodeError.
func (r Request) decode(raw json.RawMessage, obj metav1.Object) error {
	if err := json.Unmarshal(raw, obj); err != nil {
		return decodeError{err}
	}
	obj.SetNamespace(r.Namespace)
	if obj.GetName() == "" {
		obj.SetName(obj.GetGenerateName()) // the API server has not generated the name yet
	}
	return nil
}
