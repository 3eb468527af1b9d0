package sdk

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"
)

// Texts in place of secrets in errors. AWS quotes what it refuses.
const (
	hiddenText  = "[redacted]"
	hiddenError = "the words of AWS are not shown, because they contain a secret"
)

// shortSecret is too short to be taken out of a text without taking out other things.
const shortSecret = 4

// WithoutSecrets hides in an error what was sent and must not be read.
func WithoutSecrets(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	hidden := &redactedError{error: err, text: err.Error()}
	for _, s := range secrets {
		switch {
		case s == "" || !strings.Contains(hidden.text, s):
		case len(s) < shortSecret:
			hidden.text, hidden.message = hiddenError, hiddenError
			return hidden.asAWS()
		default:
			hidden.secrets = append(hidden.secrets, s, hiddenText)
		}
	}
	if len(hidden.secrets) == 0 {
		return err
	}
	hidden.text = strings.NewReplacer(hidden.secrets...).Replace(hidden.text)
	return hidden.asAWS()
}

// redactedError is an error with another text. What it wraps classifies it.
type redactedError struct {
	error
	text, message string
	secrets       []string
}

// Error implements error.
func (e *redactedError) Error() string { return e.text }

// Unwrap gives the error as it is.
func (e *redactedError) Unwrap() error { return e.error }

// asAWS returns the error as one of AWS, if it is that, so that AWS's own words are not behind it.
func (e *redactedError) asAWS() error {
	var api smithy.APIError
	if !errors.As(e.error, &api) {
		return e
	}
	if e.message == "" {
		e.message = strings.NewReplacer(e.secrets...).Replace(api.ErrorMessage())
	}
	return &redactedAPIError{e, api}
}

type redactedAPIError struct {
	*redactedError
	api smithy.APIError
}

// ErrorCode implements smithy.APIError.
func (e *redactedAPIError) ErrorCode() string { return e.api.ErrorCode() }

// ErrorMessage implements smithy.APIError.
func (e *redactedAPIError) ErrorMessage() string { return e.message }

// ErrorFault implements smithy.APIError.
func (e *redactedAPIError) ErrorFault() smithy.ErrorFault { return e.api.ErrorFault() }
