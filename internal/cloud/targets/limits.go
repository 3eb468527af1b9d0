package targets

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// accountLimits has the rate limiter of each account. AWS limits the calls per account, for all IAM roles together.
type accountLimits struct {
	ownSchedule    *ratelimit.Schedule            // for the account of the controller
	ownAccount     string                         // ID of the account of the controller; "" until it is known
	otherSchedules map[string]*ratelimit.Schedule // by account ID
}

// schedule returns the rate limiter for the account of a target group. If no role is used, it stores the account ID in arn
// as the account of the controller.
func (t TargetGroups) schedule(arn string) *ratelimit.Schedule {
	if t.account.Role != "" {
		return t.scheduleForRole(t.account)
	}
	// Without a role, the target group is in the account of the controller.
	t.WithLock(func() { t.limits.ownAccount = cmp.Or(t.limits.ownAccount, inventory.AccountOfARN(arn)) })
	return t.limits.ownSchedule
}

// scheduleForRole returns the rate limiter for the account of role a.Role.
func (t *Targets) scheduleForRole(a bindings.Account) (out *ratelimit.Schedule) {
	id := inventory.AccountOfARN(a.Role)
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

// Admit takes a token for a call that registers or deregisters targets. targets is the number of targets in the call. If the
// call must wait, the error is a ratelimit.PostponedError.
func (t TargetGroups) Admit(operation, arn string, priority bindings.CallPriority, targets int) (ratelimit.Admission, error) {
	return t.schedule(arn).Admit(ratelimit.TargetCall{
		Operation: operation, TargetGroup: arn, Tenant: priority.Tenant, MaxDelay: priority.MaxDelay, IsFull: targets >= bindings.MaxTargetsPerCall,
	})
}

// IsRetryable reports whether a call that failed with err may succeed if it is repeated.
func IsRetryable(err error) bool {
	class := sdk.ClassOf(err)
	return err != nil && (class == failure.Throttled || class == failure.Unknown)
}
