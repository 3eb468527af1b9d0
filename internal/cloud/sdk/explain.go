package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// Explain returns the error of an AWS call as one sentence for a terminal, without the prefixes of the SDK. It returns other
// errors unchanged.
func Explain(err error) error {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return err
	}
	if missing := new(notSetError); errors.As(err, &missing) {
		return errors.New(missing.text + " (" + rootCause(operation.Err).Error() + ")")
	}
	call := CallOf(err)
	var unanswered *url.Error
	var timeout *timeoutError
	var api smithy.APIError
	switch {
	case strings.Contains(operation.Err.Error(), "get credentials"):
		return fmt.Errorf("no AWS credentials; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (%s)", rootCause(operation.Err))
	case errors.As(err, &api) && IsUnanswered(err):
		return fmt.Errorf("AWS does not answer the call %q because of an internal error: %s: %s", call, api.ErrorCode(), api.ErrorMessage())
	case errors.As(err, &api):
		return fmt.Errorf("AWS refuses the call %q: %s: %s", call, api.ErrorCode(), api.ErrorMessage())
	case errors.As(err, &unanswered) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("AWS does not answer at %q: %w; check the network, the region, --aws-api-endpoints and AWS_ENDPOINT_URL", unanswered.URL, unanswered.Err)
	case errors.As(err, &timeout):
		return fmt.Errorf("AWS does not answer the call %q within %s; check the network, the region, --aws-api-endpoints and AWS_ENDPOINT_URL", call, timeout.after)
	}
	return fmt.Errorf("call %q: %w", call, operation.Err)
}

// CallOf returns the service ID and operation of the AWS call that failed with err, such as "EC2 DescribeVpcs"; "" if err is
// not the error of a call.
func CallOf(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return ""
	}
	return operation.ServiceID + " " + operation.OperationName
}

// IsUnanswered reports whether AWS did not answer a call: AWS cannot be reached, did not answer within the deadline, or
// reported an internal failure. It is false for a throttled or postponed call.
func IsUnanswered(err error) bool {
	return failure.IsUnanswered(err) && !errors.Is(err, context.Canceled) && ClassOf(err) != failure.Throttled
}

// rootCause returns the innermost wrapped error.
func rootCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// notSetError is the error for a setting that the user has not set and that was not found in the instance metadata.
type notSetError struct {
	text string
	err  error
}

func (e *notSetError) Error() string { return e.text + ": " + e.err.Error() }
func (e *notSetError) Unwrap() error { return e.err }
