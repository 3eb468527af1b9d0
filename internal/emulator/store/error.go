package store

import (
	"cmp"
	"fmt"
)

// Error is an error of an AWS API. Clients depend on the code; the message is for users. Only Errorf creates errors, because
// each error must have a source.
type Error struct {
	// Code is the error code, such as "PriorityInUse".
	Code string
	// Message is the message without the code.
	Message string
	// Status is the HTTP status. 0 means 400, the default of all protocols.
	Status int
	// Source is the origin of the code and the message.
	Source Source `json:"-"`
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf returns an error with a formatted message and HTTP status 400. from is the origin of the code and the message.
func Errorf(from Source, code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Source: from}
}

// HTTPStatus returns the HTTP status of the error.
func (e *Error) HTTPStatus() int { return cmp.Or(e.Status, 400) }

// WithStatus sets the HTTP status of the error, and returns the error.
func (e *Error) WithStatus(status int) *Error {
	e.Status = status
	return e
}
