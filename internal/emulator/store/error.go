package store

import (
	"cmp"
	"fmt"
)

// Error is an error of the API. Clients depend on the code; the message is for users. Only Errorf creates errors, so
// that each message has a source.
type Error struct {
	// Code is the error code, such as "PriorityInUse".
	Code string
	// Message is the message after the code.
	Message string
	// Status is the HTTP status; 0 means 400, the default of all protocols.
	Status int
	// Source is the source that documents code and text.
	Source Source `json:"-"`
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf returns an error with a formatted message and the protocol's default status.
// from is the source of the message.
func Errorf(from Source, code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Source: from}
}

// HTTPStatus returns the HTTP status.
func (e *Error) HTTPStatus() int { return cmp.Or(e.Status, 400) }

// WithStatus returns the error with another HTTP status.
func (e *Error) WithStatus(status int) *Error {
	e.Status = status
	return e
}
