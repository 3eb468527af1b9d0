package sdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A fact is either essential or optional. Load balancers, target groups, their tags, listeners and rules are essential: they
// show which resources exist and who owns them, so a run fails if it cannot read one of these. All other facts are optional:
// if AWS denies a read or does not answer, an observed.Fault replaces the fact, and the plan holds only what depends on the
// fact.
//
// A read that the rate limiter of the controller postpones has not failed. The run is repeated when the read is admitted.

// faultEntry is a read that failed. It is cached, so that not every run repeats the read.
type faultEntry struct {
	fault                observed.Fault
	err                  error
	failedSince, retryAt time.Time
	failures             int
}

// failedReads has the reads that failed, by key.
type failedReads struct {
	cache.Guard
	byKey map[string]faultEntry
}

// ForgetFaults removes all failed reads from the cache, so that the next run repeats them.
func (c *Client) ForgetFaults() {
	c.failedReads.WithLock(func() { c.failedReads.byKey = map[string]faultEntry{} })
}

// faultError is the error of an optional read that failed. The plan uses the fault in place of the fact.
type faultError struct {
	fault observed.Fault
	err   error
}

// Error implements error.
func (e *faultError) Error() string { return e.err.Error() }

// Unwrap returns the error of the read, which determines the class.
func (e *faultError) Unwrap() error { return e.err }

// FaultOf returns the fault of an optional read that failed with err. It returns nil for any other error. Such an error
// makes the run fail.
func FaultOf(err error) *observed.Fault {
	var f *faultError
	if errors.As(err, &f) {
		return &f.fault
	}
	return nil
}

// ReadShared runs read once for all concurrent callers with the same key.
func (c *Client) ReadShared(ctx context.Context, key string, read func() error) error {
	return c.sharedReads.do(ctx, key, read)
}

// ReadOptional runs the read of an optional fact, once for all concurrent callers with the same key. A failed read is
// repeated only after a back-off.
func (c *Client) ReadOptional(ctx context.Context, key string, read func() error) error {
	err := c.ReadShared(ctx, key, func() error { return c.ReadOptionalPart(ctx, key, read) })
	if err != nil && FaultOf(err) == nil { // the shared read may have been started by a caller that did not use ReadOptional
		return c.ReadOptionalPart(ctx, key, func() error { return err })
	}
	return err
}

// ReadEssential runs the read of an essential fact, once for all concurrent callers with the same key. A denied read is not
// repeated for durations.NotFoundAge, because many runs need the same fact.
func (c *Client) ReadEssential(ctx context.Context, key string, read func() error) error {
	return c.ReadShared(ctx, key, func() error {
		var before error
		now := c.Config.Clock.Now()
		c.failedReads.WithLock(func() {
			if e, ok := c.failedReads.byKey[key]; ok && now.Before(e.retryAt) {
				before = e.err
			}
		})
		if before != nil {
			return before
		}
		err := read()
		c.failedReads.WithLock(func() {
			delete(c.failedReads.byKey, key)
			if ClassOf(err) == failure.Denied {
				c.failedReads.byKey[key] = faultEntry{err: err, retryAt: c.Config.Clock.Now().Add(durations.NotFoundAge)}
			}
		})
		return err
	})
}

// ReadOptionalPart runs the read of an optional fact as a part of a larger read. Concurrent callers do not share the read. A
// failed read is repeated only after a back-off.
func (c *Client) ReadOptionalPart(ctx context.Context, key string, read func() error) error {
	if err := c.EarlierFailure(key); err != nil {
		return err
	}
	return c.recordFault(ctx, key, read())
}

// EarlierFailure returns the error of a read that failed and must not be repeated yet, or nil if there is none.
func (c *Client) EarlierFailure(key string) (err error) {
	now := c.Config.Clock.Now()
	c.failedReads.WithLock(func() {
		if e, ok := c.failedReads.byKey[key]; ok && now.Before(e.retryAt) {
			e.fault.RetryAfter = e.retryAt.Sub(now)
			err = &faultError{e.fault, e.err}
		}
	})
	return err
}

// unreportedTimes are, by class, the times for which failures of a read are not reported, because these failures end without
// a change by users. For example, AWS soon admits a throttled call, and AWS WAF may find a load balancer only minutes after
// its creation.
var unreportedTimes = map[failure.Class]time.Duration{
	failure.Throttled: durations.CallDeadline,
	failure.NotReady:  durations.JustCreatedAge,
}

// recordFault returns a faultError for the error of an optional read, and records the failure. If the read succeeded, it
// removes an earlier failure. It returns errors that are not faults unchanged, such as a postponed call or a resource that
// does not exist.
func (c *Client) recordFault(ctx context.Context, key string, err error) error {
	if err == nil || IsGone(err) || FaultOf(err) != nil {
		if err == nil {
			c.failedReads.WithLock(func() { delete(c.failedReads.byKey, key) })
		}
		return err
	}
	if ctx.Err() != nil || isPostponed(err) || ClassOf(err) == failure.Fenced {
		return err
	}
	now := c.Config.Clock.Now()
	f := NewFault(err)
	if f.Reason == finding.RejectedByAWS {
		// The request had an invalid value. A later request may have a valid value, so this failure is not recorded.
		f.RetryAfter = durations.SettleWindow
		return &faultError{f, err}
	}
	c.failedReads.WithLock(func() {
		e, again := c.failedReads.byKey[key]
		if !again {
			e.failedSince = now
		}
		wait := durations.FirstRetry
		if f.Reason == finding.AccessDenied {
			wait = durations.SettleWindow // a change of the IAM policy is unlikely to take effect sooner
		}
		f.RetryAfter = min(wait<<min(e.failures, 10), durations.LongestReadBackOff)
		if now.Sub(e.failedSince) < unreportedTimes[ClassOf(err)] {
			f.Message = ""
		}
		e.fault, e.err, e.retryAt = f, err, now.Add(f.RetryAfter)
		e.failures++
		maps.DeleteFunc(c.failedReads.byKey, func(_ string, o faultEntry) bool { return now.Sub(o.retryAt) > durations.CacheRetention })
		c.failedReads.byKey[key] = e
	})
	return &faultError{f, err}
}

// isPostponed reports whether a call was not sent, because it would exceed the rate limits of AWS.
func isPostponed(err error) bool {
	var postponed *ratelimit.PostponedError
	return errors.As(err, &postponed)
}

// NewFault returns the fault of a failed call, with a message for users. The message does not contain the request ID, so
// that repeated failures have the same message.
func NewFault(err error) observed.Fault {
	action := actionOf(err)
	named := fmt.Sprintf("%q", action)
	if action == "" {
		named = "a request"
	}
	var api smithy.APIError
	var timeout *timeoutError
	var dns *net.DNSError
	f := observed.Fault{Action: action, Reason: finding.CallFailed}
	switch {
	case ClassOf(err) == failure.Denied:
		f.Reason, f.Message = finding.AccessDenied, "AWS denies "+named
		if errors.As(err, &api) {
			f.Message += " (" + api.ErrorCode()
			if strings.Contains(api.ErrorMessage(), "explicit deny") {
				f.Message += ", explicit deny"
			}
			f.Message += ")"
		}
	case errors.As(err, &timeout) && timeout.lastAnswer == nil:
		f.Message = fmt.Sprintf("AWS does not answer %s within %s", named, timeout.after)
	case errors.As(err, &api):
		f.Message = fmt.Sprintf("AWS answers %s with %q", named, api.ErrorCode()+": "+api.ErrorMessage())
		if ClassOf(err) == failure.Invalid {
			f.Reason = finding.RejectedByAWS
		}
	case errors.As(err, &dns) && dns.IsNotFound:
		f.Reason, f.Message = finding.ServiceUnavailable, "AWS has no endpoint for "+named+" in this region"
	case IsInterrupted(err):
		f.Message = fmt.Sprintf("AWS does not answer %s", named)
	case action == "":
		f.Message = err.Error()
	default:
		f.Message = fmt.Sprintf("%s fails with %q", named, causeText(err))
	}
	return f
}

// causeText returns the text of an error without the name of the operation, which the SDK adds.
func causeText(err error) string {
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return operation.Err.Error()
	}
	return err.Error()
}

// actionOf returns the IAM action of the call that failed, such as "acm:ListCertificates", or "" if the error does not
// come from a call.
func actionOf(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return ""
	}
	return failure.IAMAction(operation)
}

// AddOnFault returns the fault of a failed read from an add-on service, such as AWS WAF or Route 53. A postponed call gives
// a fault without a message, because such a read must not make the run fail. Other errors are returned unchanged.
func AddOnFault(err error) (*observed.Fault, error) {
	if isPostponed(err) {
		return &observed.Fault{RetryAfter: durations.FirstRetry}, nil // the rate limiter usually admits the call within this time
	}
	f := FaultOf(err)
	if f == nil {
		return nil, err
	}
	own := *f
	if own.Reason == finding.CallFailed {
		own.Reason = "" // the failure may be transient
	}
	return &own, nil
}
