package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Error is a failure whose class is known better than from AWS's code alone, or one that did not
// come from AWS.
type Error struct {
	// What was attempted, such as "create load balancer k8s-shop".
	What  string
	class engine.Class
	// reason is the finding for users, "" if there is none beside the class.
	reason finding.Reason
	err    error
}

// Error implements error.
func (e *Error) Error() string { return e.What + ": " + e.err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.err }

// Class is what to do about the error.
func (e *Error) Class() engine.Class { return e.class }

// Reason is the finding for users about the error, "" if the class says it all.
func (e *Error) Reason() finding.Reason { return e.reason }

// failed builds an Error of a class.
func failed(class engine.Class, what, format string, args ...any) *Error {
	return &Error{What: what, class: class, err: fmt.Errorf(format, args...)}
}

// errFenced is what a mutating call fails with when this process must not write any more.
var errFenced = errors.New("this process must not write to AWS any more")

// doubtful is the error of a call that may have taken effect in an attempt before the one that
// failed so.
type doubtful struct{ error }

// Unwrap gives the error of the last attempt.
func (e *doubtful) Unwrap() error { return e.error }

// Class implements engine.Cloud.
func (c *Cloud) Class(err error) engine.Class { return classify(err) }

func classify(err error) engine.Class {
	var own *Error
	var postponed *ratelimit.Postponed
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	switch {
	case err == nil:
		return engine.Unknown
	case errors.Is(err, errFenced):
		return engine.Fenced
	case errors.As(err, &own):
		return own.class
	case errors.As(err, &postponed):
		return engine.Throttled
	case errors.As(err, &api):
		if class, ok := codes[api.ErrorCode()]; ok {
			return class
		}
		if errors.As(err, &response) && (response.HTTPStatusCode() == 401 || response.HTTPStatusCode() == 403) {
			return engine.Denied
		}
	}
	return engine.Unknown
}

// code is AWS's code of an error, "" if the error is not AWS's.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// mayHaveHappened reports whether a call that failed may have taken effect all the same: its answer
// did not arrive, or AWS failed on the way.
func mayHaveHappened(err error) bool {
	var doubt *doubtful
	if errors.As(err, &doubt) {
		return true
	}
	if err == nil || errors.Is(err, errFenced) {
		return false
	}
	var timeout *timeoutError
	if errors.As(err, &timeout) {
		return true
	}
	if putOff(err) {
		return false
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		// A request that was given up before it left is reported by no answer.
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

// outcomeOf is what an attempt teaches the rate limiter.
func outcomeOf(err error) ratelimit.Outcome {
	switch c := code(err); {
	case codes[c] == engine.Throttled && c != "PriorRequestNotComplete":
		return ratelimit.Throttled
	case err == nil, answeredWith(err):
		return ratelimit.Taken
	}
	return ratelimit.Unanswered
}

// interrupted reports whether an error only means that the caller gave up.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// codes sorts the codes of all services that are called. A code means the same in each of them,
// or is not in the table.
var codes = map[string]engine.Class{
	"Throttling":                             engine.Throttled,
	"ThrottlingException":                    engine.Throttled,
	"ThrottledException":                     engine.Throttled,
	"RequestThrottled":                       engine.Throttled,
	"RequestThrottledException":              engine.Throttled,
	"TooManyRequestsException":               engine.Throttled,
	"RequestLimitExceeded":                   engine.Throttled,
	"BandwidthLimitExceeded":                 engine.Throttled,
	"EC2ThrottledException":                  engine.Throttled,
	"SlowDown":                               engine.Throttled,
	"PriorRequestNotComplete":                engine.Throttled,
	"ProvisionedThroughputExceededException": engine.Throttled,

	"AccessDenied":                        engine.Denied,
	"AccessDeniedException":               engine.Denied,
	"UnauthorizedOperation":               engine.Denied,
	"UnauthorizedAccess":                  engine.Denied,
	"AuthFailure":                         engine.Denied,
	"OptInRequired":                       engine.Denied,
	"InvalidClientTokenId":                engine.Denied,
	"UnrecognizedClientException":         engine.Denied,
	"SignatureDoesNotMatch":               engine.Denied,
	"MissingAuthenticationToken":          engine.Denied,
	"MissingAuthenticationTokenException": engine.Denied,
	"ExpiredToken":                        engine.Denied,
	"ExpiredTokenException":               engine.Denied,

	"TooManyLoadBalancers":                     engine.Quota,
	"TooManyTargetGroups":                      engine.Quota,
	"TooManyListeners":                         engine.Quota,
	"TooManyRules":                             engine.Quota,
	"TooManyCertificates":                      engine.Quota,
	"TooManyTargets":                           engine.Quota,
	"TooManyRegistrationsForTargetId":          engine.Quota,
	"TooManyUniqueTargetGroupsPerLoadBalancer": engine.Quota,
	"TargetGroupAssociationLimit":              engine.Quota,
	"TooManyTags":                              engine.Quota,
	"TagLimitExceeded":                         engine.Quota,
	"SecurityGroupLimitExceeded":               engine.Quota,
	"RulesPerSecurityGroupLimitExceeded":       engine.Quota,
	"SecurityGroupsPerInterfaceLimitExceeded":  engine.Quota,
	"CapacityUnitsLimitExceeded":               engine.Quota,
	"CapacityDecreaseRequestLimitExceeded":     engine.Quota,
	"InsufficientCapacity":                     engine.Quota,
	"LimitExceededException":                   engine.Quota,
	"LimitsExceededException":                  engine.Quota,
	"WAFLimitsExceededException":               engine.Quota,

	"PriorityInUse":                  engine.Conflict,
	"DuplicateListener":              engine.Conflict,
	"ResourceAlreadyExistsException": engine.Conflict,
	"OptimisticLockException":        engine.Conflict,
	"DuplicateTagKeys":               engine.Invalid,
	"InvalidGroup.Duplicate":         engine.Conflict,
	"InvalidPermission.Duplicate":    engine.Conflict,
	"InvalidPermission.NotFound":     engine.Conflict,
	"InvalidGroup.InUse":             engine.InUse,

	"ResourceInUse":              engine.InUse,
	"ResourceInUseException":     engine.InUse,
	"DependencyViolation":        engine.InUse,
	"CapacityReservationPending": engine.InUse,

	"LoadBalancerNotFound":            engine.Gone,
	"TargetGroupNotFound":             engine.Gone,
	"ListenerNotFound":                engine.Gone,
	"RuleNotFound":                    engine.Gone,
	"InvalidGroup.NotFound":           engine.Gone,
	"InvalidGroupId.NotFound":         engine.Gone,
	"InvalidSecurityGroupID.NotFound": engine.Gone,
	"InvalidVpcID.NotFound":           engine.Gone,
	"ResourceNotFoundException":       engine.Gone,
	"NoSuchHostedZone":                engine.Gone,

	"TrustStoreNotReady":            engine.NotReady,
	"HealthUnavailable":             engine.NotReady,
	"WAFUnavailableEntityException": engine.NotReady,
	"InternalUnavailable":           engine.NotReady,

	"ValidationError":                         engine.Invalid,
	"ValidationException":                     engine.Invalid,
	"InvalidConfigurationRequest":             engine.Invalid,
	"InvalidLoadBalancerAction":               engine.Invalid,
	"InvalidScheme":                           engine.Invalid,
	"InvalidSecurityGroup":                    engine.Invalid,
	"InvalidSubnet":                           engine.Invalid,
	"SubnetNotFound":                          engine.Invalid,
	"InvalidSubnetID.NotFound":                engine.Invalid,
	"InvalidPrefixListID.NotFound":            engine.Invalid,
	"InvalidPrefixListId.NotFound":            engine.Invalid,
	"InvalidPrefixListId.Malformed":           engine.Invalid,
	"AllocationIdNotFound":                    engine.Invalid,
	"AvailabilityZoneNotSupported":            engine.Invalid,
	"InvalidTarget":                           engine.Invalid,
	"IncompatibleProtocols":                   engine.Invalid,
	"UnsupportedProtocol":                     engine.Invalid,
	"UnsupportedCertificate":                  engine.Invalid,
	"CertificateNotFound":                     engine.Invalid,
	"SSLPolicyNotFound":                       engine.Invalid,
	"ALPNPolicyNotFound":                      engine.Invalid,
	"TrustStoreNotFound":                      engine.Invalid,
	"TooManyActions":                          engine.Invalid,
	"OperationNotPermitted":                   engine.Invalid,
	"InvalidParameterValue":                   engine.Invalid,
	"InvalidParameterCombination":             engine.Invalid,
	"MissingParameter":                        engine.Invalid,
	"InvalidGroup.Reserved":                   engine.Invalid,
	"InvalidParameter":                        engine.Invalid,
	"InvalidArnException":                     engine.Invalid,
	"DuplicateLoadBalancerName":               engine.Invalid,
	"DuplicateTargetGroupName":                engine.Invalid,
	"WAFNonexistentItemException":             engine.Invalid,
	"WAFInvalidParameterException":            engine.Invalid,
	"WAFInvalidOperationException":            engine.Invalid,
	"WAFInvalidResourceException":             engine.Invalid,
	"InvalidParameterException":               engine.Invalid,
	"InvalidOperationException":               engine.Invalid,
	"InvalidResourceException":                engine.Invalid,
	"InvalidArgsException":                    engine.Invalid,
	"InvalidTagException":                     engine.Invalid,
	"InvalidDomainValidationOptionsException": engine.Invalid,
	"TooManyTagsException":                    engine.Invalid,
	"RequestInProgressException":              engine.NotReady,
	"TagPolicyException":                      engine.Invalid,
	"InvalidChangeBatch":                      engine.Invalid,
	"InvalidInput":                            engine.Invalid,
}

// Unreached reports whether AWS did not answer, or not now, so that the same call may work later. What the
// instance metadata does not have is missing for good: the error says which flag takes its place.
func Unreached(err error) bool {
	var missing *notSetError
	if err == nil || errors.As(err, &missing) {
		return false
	}
	switch classify(err) {
	case engine.Throttled:
		return true
	case engine.Unknown:
		var operation *smithy.OperationError
		return errors.As(err, &operation)
	}
	return false
}
