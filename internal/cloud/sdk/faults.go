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

// A fact that cannot be read is either essential or optional. Without the load balancers, the target
// groups, their tags, the listeners and the rules it is not known what exists and who owns it, so a
// run that cannot read one of these fails as a whole. Everything else is optional: a read that AWS
// denies or does not answer becomes an observed.Fault in place of the fact, and the plan holds what
// depends on it and nothing else.
//
// A read that the own rate limiter postpones is neither: the run is repeated when it is admitted.

// faultEntry is what is kept of a read that failed, so that it is not repeated at the pace of runs.
type faultEntry struct {
	fault        observed.Fault
	err          error
	since, until time.Time
	failures     int
}

// failedReads are the readings that failed, by their keys.
type failedReads struct {
	cache.Guard
	by map[string]faultEntry
}

// ForgetFaults lets reads that failed be tried again at once.
func (c *Client) ForgetFaults() { c.failed.With(func() { c.failed.by = map[string]faultEntry{} }) }

// faultError is the error of an optional read; the fault stands for the fact.
type faultError struct {
	fault observed.Fault
	err   error
}

// Error implements error.
func (e *faultError) Error() string { return e.err.Error() }

// Unwrap gives the failure, by which the error is classified.
func (e *faultError) Unwrap() error { return e.err }

// FaultOf finds the fault that an error stands for, nil if the run fails with it.
func FaultOf(err error) *observed.Fault {
	var f *faultError
	if errors.As(err, &f) {
		return &f.fault
	}
	return nil
}

// Share runs a read once for all concurrent callers.
func (c *Client) Share(ctx context.Context, key string, read func() error) error {
	return c.flight.do(ctx, key, read)
}

// Optional reads something that a run can do without, once for all concurrent callers.
func (c *Client) Optional(ctx context.Context, key string, read func() error) error {
	return c.Share(ctx, key, func() error { return c.Gated(ctx, key, read) })
}

// Essential reads something that a run cannot do without, once for all concurrent callers. A
// denial is believed for a while, so that the runs of all load balancers, which fail with it, do not
// repeat it.
func (c *Client) Essential(ctx context.Context, key string, read func() error) error {
	return c.Share(ctx, key, func() error {
		var before error
		now := c.Config.Clock.Now()
		c.failed.With(func() {
			if e, ok := c.failed.by[key]; ok && now.Before(e.until) {
				before = e.err
			}
		})
		if before != nil {
			return before
		}
		err := read()
		c.failed.With(func() {
			delete(c.failed.by, key)
			if ClassOf(err) == failure.Denied {
				c.failed.by[key] = faultEntry{err: err, until: c.Config.Clock.Now().Add(durations.None)}
			}
		})
		return err
	})
}

// Gated reads something optional as a part of a larger reading.
func (c *Client) Gated(ctx context.Context, key string, read func() error) error {
	if err := c.FailedBefore(key); err != nil {
		return err
	}
	return c.noteFault(ctx, key, read())
}

// FailedBefore returns the fault of a read that is not yet to be tried again, nil if there is none.
func (c *Client) FailedBefore(key string) (err error) {
	now := c.Config.Clock.Now()
	c.failed.With(func() {
		if e, ok := c.failed.by[key]; ok && now.Before(e.until) {
			e.fault.Again = e.until.Sub(now)
			err = &faultError{e.fault, e.err}
		}
	})
	return err
}

// noteFault turns the failure of an optional read into a fault, and forgets the fault of one that
// succeeded. What fails the run is given back as it is.
func (c *Client) noteFault(ctx context.Context, key string, err error) error {
	if err == nil || IsGone(err) || FaultOf(err) != nil {
		if err == nil {
			c.failed.With(func() { delete(c.failed.by, key) })
		}
		return err
	}
	if ctx.Err() != nil || Postponed(err) || ClassOf(err) == failure.Fenced {
		return err
	}
	now := c.Config.Clock.Now()
	f := FaultFrom(err)
	if f.Reason == finding.RejectedByAWS {
		// What is wrong is in the question, and the next one may be another.
		f.Again = durations.Settle
		return &faultError{f, err}
	}
	c.failed.With(func() {
		e, again := c.failed.by[key]
		if !again {
			e.since = now
		}
		wait := durations.FirstRetry
		if f.Reason == finding.AccessDenied {
			wait = durations.Settle // the policy has hardly changed before
		}
		f.Again = min(wait<<min(e.failures, 10), durations.LastRetry)
		if ClassOf(err) == failure.Throttled && now.Sub(e.since) < durations.Call {
			f.Message = ""
		}
		e.fault, e.err, e.until = f, err, now.Add(f.Again)
		e.failures++
		maps.DeleteFunc(c.failed.by, func(_ string, o faultEntry) bool { return now.Sub(o.until) > durations.Kept })
		c.failed.by[key] = e
	})
	return &faultError{f, err}
}

// Postponed reports whether a call was not sent, to keep below AWS's limits.
func Postponed(err error) bool {
	var postponed *ratelimit.Postponed
	return errors.As(err, &postponed)
}

// FaultFrom returns in words why AWS gave no answer. The id of the request is left out, so that the
// same trouble is reported in the same words.
func FaultFrom(err error) observed.Fault {
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
	case errors.As(err, &timeout) && timeout.last == nil:
		f.Message = fmt.Sprintf("AWS does not answer %s within %s", named, timeout.after)
	case errors.As(err, &api):
		f.Message = fmt.Sprintf("AWS answers %s with %q", named, api.ErrorCode()+": "+api.ErrorMessage())
		if ClassOf(err) == failure.Invalid {
			f.Reason = finding.RejectedByAWS
		}
	case errors.As(err, &dns) && dns.IsNotFound:
		f.Reason, f.Message = finding.ServiceUnavailable, "AWS has no endpoint for "+named+" in this region"
	case Interrupted(err):
		f.Message = fmt.Sprintf("AWS does not answer %s", named)
	case action == "":
		f.Message = err.Error()
	default:
		f.Message = fmt.Sprintf("%s fails with %q", named, cause(err))
	}
	return f
}

// cause returns the error below those of the SDK, which hold the id of the request.
func cause(err error) string {
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return operation.Err.Error()
	}
	return err.Error()
}

// actionOf returns the name by which a policy allows the call that failed, such as
// "acm:ListCertificates"; "" if the error is not one of a call.
func actionOf(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return ""
	}
	return failure.Permission(operation)
}

// OtherFault returns the fault that is in an answer about another service. Its message is empty
// where the call was postponed to keep below AWS's limits. An error is given back where it is the caller's.
func OtherFault(err error) (*observed.Fault, error) {
	if Postponed(err) {
		return &observed.Fault{Again: durations.FirstRetry}, nil // it is admitted by then as a rule
	}
	f := FaultOf(err)
	if f == nil {
		return nil, err
	}
	own := *f
	if own.Reason == finding.CallFailed {
		own.Reason = "" // it may pass soon
	}
	return &own, nil
}
