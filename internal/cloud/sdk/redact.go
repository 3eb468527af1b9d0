package sdk

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"
)

// Texts that replace secrets in errors. AWS quotes values that it refuses in its messages.
const (
	hiddenText    = "[redacted]"
	hiddenMessage = "the message of AWS is not shown, because it contains a secret"
)

// minRedactable is the minimum length, in bytes, of a secret that is replaced within a text. A shorter secret may be part of
// other words, so the whole text is replaced.
const minRedactable = 4

// WithoutSecrets returns err with a message in which all given secrets are redacted. If err contains no secret, it is
// returned unchanged.
func WithoutSecrets(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	hidden := &redactedError{error: err, text: err.Error()}
	for _, s := range secrets {
		switch {
		case s == "" || !strings.Contains(hidden.text, s):
		case len(s) < minRedactable:
			hidden.text, hidden.message = hiddenMessage, hiddenMessage
			return hidden.asAPIError()
		default:
			hidden.secrets = append(hidden.secrets, s, hiddenText)
		}
	}
	if len(hidden.secrets) == 0 {
		return err
	}
	hidden.text = strings.NewReplacer(hidden.secrets...).Replace(hidden.text)
	return hidden.asAPIError()
}

// redactedError is an error with a redacted text. Its class is the class of the error that it wraps.
type redactedError struct {
	error
	text, message string
	secrets       []string
}

// Error implements error.
func (e *redactedError) Error() string { return e.text }

// Unwrap returns the wrapped error, whose message is not redacted.
func (e *redactedError) Unwrap() error { return e.error }

// asAPIError returns the error as a smithy.APIError with a redacted message if the wrapped error is from AWS. If the wrapped
// error were returned, errors.As would find the original message.
func (e *redactedError) asAPIError() error {
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
