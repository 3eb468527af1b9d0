package sdk

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// Error is an error with a class. It is used if the error code of AWS does not determine the class, or if the error is not
// from AWS.
type Error struct {
	// Operation is the operation that failed, such as "create load balancer k8s-shop".
	Operation string
	class     failure.Class
	// reason is the reason of the finding for users; "" if the class determines the reason.
	reason finding.Reason
	err    error
}

// Error implements error.
func (e *Error) Error() string { return e.Operation + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Class returns the class of the error, which determines how callers handle the error.
func (e *Error) Class() failure.Class { return e.class }

// Reason returns the reason of the finding for users, or "" if the class determines the reason.
func (e *Error) Reason() finding.Reason { return e.reason }

// NewError returns an Error with a class and a formatted message. what is the operation that failed.
func NewError(class failure.Class, what, format string, args ...any) *Error {
	return &Error{Operation: what, class: class, err: fmt.Errorf(format, args...)}
}

// Wrap returns an Error that wraps err and has the given class. what is the operation that failed.
func Wrap(class failure.Class, what string, err error) *Error {
	return &Error{Operation: what, class: class, err: err}
}

// WithReason sets the reason of the finding for users, and returns the error.
func (e *Error) WithReason(r finding.Reason) *Error {
	e.reason = r
	return e
}

// errFenced is the error of a mutating call if this process may no longer write.
var errFenced = errors.New("this process may no longer write to AWS")

// uncertainError is the error of a call whose last attempt did not take effect, but of which an earlier attempt may have
// taken effect.
type uncertainError struct{ error }

// Unwrap returns the error of the last attempt.
func (e *uncertainError) Unwrap() error { return e.error }

// ClassOf returns the class of an error, which determines how callers handle the error. It is failure.Unknown if the error
// has no known class.
func ClassOf(err error) failure.Class {
	var own *Error
	var postponed *ratelimit.PostponedError
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	switch {
	case err == nil:
		return failure.Unknown
	case errors.Is(err, errFenced):
		return failure.Fenced
	case errors.As(err, &own):
		return own.class
	case errors.As(err, &postponed):
		return failure.Throttled
	case errors.As(err, &api):
		if class, ok := classByCode[api.ErrorCode()]; ok {
			return class
		}
		if errors.As(err, &response) && (response.HTTPStatusCode() == 401 || response.HTTPStatusCode() == 403) {
			return failure.Denied
		}
	}
	return failure.Unknown
}

// IsGone reports whether AWS reports that a resource does not exist.
func IsGone(err error) bool { return err != nil && ClassOf(err) == failure.Gone }

// IgnoreGone returns nil if AWS reports that a resource does not exist, and otherwise err.
func IgnoreGone(err error) error {
	if IsGone(err) {
		return nil
	}
	return err
}

// IsInvalid reports whether AWS has refused a value of the request.
func IsInvalid(err error) bool { return err != nil && ClassOf(err) == failure.Invalid }

// Code returns the error code of AWS, or "" if the error is not from AWS.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// MayHaveTakenEffect reports whether a failed call may have taken effect, because its answer did not arrive or AWS reported
// an internal failure.
func MayHaveTakenEffect(err error) bool {
	var uncertain *uncertainError
	if errors.As(err, &uncertain) {
		return true
	}
	if err == nil || errors.Is(err, errFenced) {
		return false
	}
	var timeout *timeoutError
	if errors.As(err, &timeout) {
		return true
	}
	if isPostponed(err) {
		return false
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		// Without an answer it is not known whether AWS received the request.
		return true
	}
	if api.ErrorFault() == smithy.FaultServer {
		return true
	}
	switch api.ErrorCode() {
	case "InternalFailure", "InternalError", "ServiceUnavailable", "RequestTimeout", "Unavailable":
		return true
	}
	return false
}

// outcomeOf returns the outcome of an attempt for the rate limiter.
func outcomeOf(err error) ratelimit.Outcome {
	switch c := Code(err); {
	case classByCode[c] == failure.Throttled && c != "PriorRequestNotComplete":
		return ratelimit.Throttled
	case err == nil, isAnswer(err):
		return ratelimit.Handled
	}
	return ratelimit.Unanswered
}

// IsInterrupted reports whether an error means that a context ended, usually the context of the caller.
func IsInterrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// classByCode maps the error codes of all AWS services that the controller calls to classes. It does not contain codes whose
// meaning depends on the service.
var classByCode = map[string]failure.Class{
	"Throttling":                             failure.Throttled,
	"ThrottlingException":                    failure.Throttled,
	"ThrottledException":                     failure.Throttled,
	"RequestThrottled":                       failure.Throttled,
	"RequestThrottledException":              failure.Throttled,
	"TooManyRequestsException":               failure.Throttled,
	"RequestLimitExceeded":                   failure.Throttled,
	"BandwidthLimitExceeded":                 failure.Throttled,
	"EC2ThrottledException":                  failure.Throttled,
	"SlowDown":                               failure.Throttled,
	"PriorRequestNotComplete":                failure.Throttled,
	"ProvisionedThroughputExceededException": failure.Throttled,

	"AccessDenied":                        failure.Denied,
	"AccessDeniedException":               failure.Denied,
	"UnauthorizedOperation":               failure.Denied,
	"UnauthorizedAccess":                  failure.Denied,
	"AuthFailure":                         failure.Denied,
	"OptInRequired":                       failure.Denied,
	"InvalidClientTokenId":                failure.Denied,
	"UnrecognizedClientException":         failure.Denied,
	"SignatureDoesNotMatch":               failure.Denied,
	"MissingAuthenticationToken":          failure.Denied,
	"MissingAuthenticationTokenException": failure.Denied,
	"ExpiredToken":                        failure.Denied,
	"ExpiredTokenException":               failure.Denied,

	"TooManyLoadBalancers":                     failure.Quota,
	"TooManyTargetGroups":                      failure.Quota,
	"TooManyListeners":                         failure.Quota,
	"TooManyRules":                             failure.Quota,
	"TooManyCertificates":                      failure.Quota,
	"TooManyTargets":                           failure.Quota,
	"TooManyRegistrationsForTargetId":          failure.Quota,
	"TooManyUniqueTargetGroupsPerLoadBalancer": failure.Quota,
	"TargetGroupAssociationLimit":              failure.Quota,
	"TooManyTags":                              failure.Quota,
	"TagLimitExceeded":                         failure.Quota,
	"SecurityGroupLimitExceeded":               failure.Quota,
	"RulesPerSecurityGroupLimitExceeded":       failure.Quota,
	"SecurityGroupsPerInterfaceLimitExceeded":  failure.Quota,
	"CapacityUnitsLimitExceeded":               failure.Quota,
	"CapacityDecreaseRequestLimitExceeded":     failure.Quota,
	"InsufficientCapacity":                     failure.Quota,
	"LimitExceededException":                   failure.Quota,
	"LimitsExceededException":                  failure.Quota,
	"WAFLimitsExceededException":               failure.Quota,

	"PriorityInUse":                  failure.Conflict,
	"ConflictException":              failure.Conflict,
	"DuplicateListener":              failure.Conflict,
	"ResourceAlreadyExistsException": failure.Conflict,
	"OptimisticLockException":        failure.Conflict,
	"DuplicateTagKeys":               failure.Invalid,
	"InvalidGroup.Duplicate":         failure.Conflict,
	"InvalidPermission.Duplicate":    failure.Conflict,
	"InvalidPermission.NotFound":     failure.Conflict,
	"InvalidGroup.InUse":             failure.InUse,

	"ResourceInUse":              failure.InUse,
	"ResourceInUseException":     failure.InUse,
	"DependencyViolation":        failure.InUse,
	"CapacityReservationPending": failure.InUse,

	"LoadBalancerNotFound":            failure.Gone,
	"TargetGroupNotFound":             failure.Gone,
	"ListenerNotFound":                failure.Gone,
	"RuleNotFound":                    failure.Gone,
	"InvalidGroup.NotFound":           failure.Gone,
	"InvalidGroupId.NotFound":         failure.Gone,
	"InvalidSecurityGroupID.NotFound": failure.Gone,
	"InvalidVpcID.NotFound":           failure.Gone,
	"ResourceNotFoundException":       failure.Gone,
	"NoSuchHostedZone":                failure.Gone,

	// Error codes of Global Accelerator. It refuses a change while an earlier change is in progress.
	"TransactionInProgressException":        failure.NotReady,
	"AcceleratorNotDisabledException":       failure.NotReady,
	"AssociatedListenerFoundException":      failure.InUse,
	"AssociatedEndpointGroupFoundException": failure.InUse,
	"AcceleratorNotFoundException":          failure.Gone,
	"ListenerNotFoundException":             failure.Gone,
	"EndpointGroupNotFoundException":        failure.Gone,
	"EndpointNotFoundException":             failure.Gone,
	"EndpointGroupAlreadyExistsException":   failure.Conflict,
	"EndpointAlreadyExistsException":        failure.Conflict,
	"InvalidArgumentException":              failure.Invalid,
	"InvalidPortRangeException":             failure.Invalid,

	"TrustStoreNotReady":            failure.NotReady,
	"HealthUnavailable":             failure.NotReady,
	"WAFUnavailableEntityException": failure.NotReady,
	"InternalUnavailable":           failure.NotReady,

	"ValidationError":                         failure.Invalid,
	"ValidationException":                     failure.Invalid,
	"InvalidConfigurationRequest":             failure.Invalid,
	"InvalidLoadBalancerAction":               failure.Invalid,
	"InvalidScheme":                           failure.Invalid,
	"InvalidSecurityGroup":                    failure.Invalid,
	"InvalidSubnet":                           failure.Invalid,
	"SubnetNotFound":                          failure.Invalid,
	"InvalidSubnetID.NotFound":                failure.Invalid,
	"InvalidPrefixListID.NotFound":            failure.Invalid,
	"InvalidPrefixListId.NotFound":            failure.Invalid,
	"InvalidPrefixListId.Malformed":           failure.Invalid,
	"AllocationIdNotFound":                    failure.Invalid,
	"AvailabilityZoneNotSupported":            failure.Invalid,
	"InvalidTarget":                           failure.Invalid,
	"IncompatibleProtocols":                   failure.Invalid,
	"UnsupportedProtocol":                     failure.Invalid,
	"UnsupportedCertificate":                  failure.Invalid,
	"CertificateNotFound":                     failure.Invalid,
	"SSLPolicyNotFound":                       failure.Invalid,
	"ALPNPolicyNotFound":                      failure.Invalid,
	"TrustStoreNotFound":                      failure.Invalid,
	"TooManyActions":                          failure.Invalid,
	"OperationNotPermitted":                   failure.Invalid,
	"InvalidParameterValue":                   failure.Invalid,
	"InvalidParameterCombination":             failure.Invalid,
	"MissingParameter":                        failure.Invalid,
	"InvalidGroup.Reserved":                   failure.Invalid,
	"InvalidParameter":                        failure.Invalid,
	"InvalidArnException":                     failure.Invalid,
	"DuplicateLoadBalancerName":               failure.Invalid,
	"DuplicateTargetGroupName":                failure.Invalid,
	"WAFNonexistentItemException":             failure.Invalid,
	"WAFInvalidParameterException":            failure.Invalid,
	"WAFInvalidOperationException":            failure.Invalid,
	"WAFInvalidResourceException":             failure.Invalid,
	"InvalidParameterException":               failure.Invalid,
	"InvalidOperationException":               failure.Invalid,
	"InvalidResourceException":                failure.Invalid,
	"InvalidArgsException":                    failure.Invalid,
	"InvalidTagException":                     failure.Invalid,
	"InvalidDomainValidationOptionsException": failure.Invalid,
	"TooManyTagsException":                    failure.Invalid,
	"RequestInProgressException":              failure.NotReady,
	"InvalidNextToken":                        failure.Invalid,
	"PaginationTokenExpiredException":         failure.Invalid,
	"TagPolicyException":                      failure.Invalid,
	"InvalidChangeBatch":                      failure.Invalid,
	"InvalidInput":                            failure.Invalid,
}

// IsUnreached reports whether the same call may succeed later: AWS did not answer, throttled the call, or answered with an
// error of class Unknown. It is false for a setting that was not found in the instance metadata, because a retry would fail
// with the same error, and the message names the flag to set.
func IsUnreached(err error) bool {
	var missing *notSetError
	if err == nil || errors.As(err, &missing) {
		return false
	}
	switch ClassOf(err) {
	case failure.Throttled:
		return true
	case failure.Unknown:
		var operation *smithy.OperationError
		return errors.As(err, &operation)
	}
	return false
}
