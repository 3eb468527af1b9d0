package targets

import (
	"cmp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// accountLimits has the rate limiter of each account. AWS limits the calls to an account, whichever IAM role makes them.
type accountLimits struct {
	ownSchedule    *ratelimit.Schedule            // of the controller's account
	ownAccount     string                         // id of the controller's account, "" until it is known
	otherSchedules map[string]*ratelimit.Schedule // by id of the account
}

// schedule returns the rate limiter of the account that owns a target group.
func (t TargetGroups) schedule(arn string) *ratelimit.Schedule {
	if t.account.Role != "" {
		return t.limitsOf(t.account)
	}
	// A target group that is changed without a role is in the controller's account.
	t.WithLock(func() { t.limits.ownAccount = cmp.Or(t.limits.ownAccount, accountOfARN(arn)) })
	return t.limits.ownSchedule
}

// limitsOf returns the rate limiter of the account of a role.
func (t *Targets) limitsOf(a bindings.Account) (out *ratelimit.Schedule) {
	id := accountOfARN(a.Role)
	t.WithLock(func() {
		l := &t.limits
		if id == l.ownAccount {
			out = l.ownSchedule
			return
		}
		if l.otherSchedules[id] == nil {
			l.otherSchedules[id] = ratelimit.NewSchedule(ratelimit.NewLimiter(t.Config.TokenBuckets, t.Config.Clock, t.Config.MaxWait))
		}
		out = l.otherSchedules[id]
	})
	return out
}

// Admit takes a token for a call that changes targets.
func (t TargetGroups) Admit(operation, arn string, priority bindings.CallPriority, targets int) (ratelimit.Admission, error) {
	return t.schedule(arn).Admit(ratelimit.TargetCall{
		Operation: operation, TargetGroup: arn, Tenant: priority.Tenant, MaxDelay: priority.MaxDelay, IsFull: targets >= bindings.MaxTargets,
	})
}

// IsRetryable reports whether a call that failed may succeed when it is repeated.
func IsRetryable(err error) bool {
	class := sdk.ClassOf(err)
	return err != nil && (class == failure.Throttled || class == failure.Unknown)
}

// accountOfARN returns the id of the account in an ARN, or "" if there is none.
func accountOfARN(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}
