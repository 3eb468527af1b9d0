package wire

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Codec implements one of the protocols of AWS.
type Codec interface {
	// Decode reads a request into in, a pointer to an input structure of the SDK. Its errors are of type *store.Error, and
	// name the invalid member.
	Decode(r Request, in any) error
	// Encode encodes the response of an operation. out points to an output structure of the SDK.
	Encode(operation string, out any, requestID string) (Response, error)
	// EncodeError encodes an error as a response.
	EncodeError(err *store.Error, requestID string) Response
}

// Response is the HTTP response to a request.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

func newResponse(status int, contentType, requestID string, body []byte) Response {
	h := http.Header{}
	h.Set("Content-Type", contentType)
	h.Set("X-Amzn-Requestid", requestID)
	return Response{Status: status, Header: h, Body: body}
}

// Error codes for requests that the emulator does not support. AWS does not have these codes. Clients therefore do not
// handle them as errors of AWS.
const (
	// CodeUnknownParameter is the error code for a request member that does not exist in AWS.
	CodeUnknownParameter = "UnknownParameter"
	// CodeUnsupportedParameter is the error code for a member that exists in AWS, but that the emulator does not support.
	CodeUnsupportedParameter = "UnsupportedParameter"
	// CodeMalformedParameter is the error code for a value that does not have the type of its member.
	CodeMalformedParameter = "MalformedParameter"
)

func unknownParameterError(path string) *store.Error {
	return store.Errorf(store.EmulatorSource, CodeUnknownParameter, "The parameter %s is not recognized", path)
}

func malformedParameterError(path, value, want string) *store.Error {
	return store.Errorf(store.EmulatorSource, CodeMalformedParameter, "The value '%s' of parameter %s is not %s", value, strings.TrimSuffix(path, "."), want)
}

// UnsupportedParameterError returns the error for a member that the operation does not handle.
func UnsupportedParameterError(operation, member string) *store.Error {
	return store.Errorf(store.EmulatorSource, CodeUnsupportedParameter, "the parameter %s of %s is not supported by this emulator", member, operation)
}

// formatTimestamp returns a time in the format of the XML protocols.
func formatTimestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// unsupportedTypeError returns the error for a value of a Go type that no codec can encode. Such a value is a bug in the
// emulator.
func unsupportedTypeError(v any) error { return fmt.Errorf("cannot encode a %T", v) }
