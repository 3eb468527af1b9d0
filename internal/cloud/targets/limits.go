package targets

import (
	"cmp"
	"strings"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// accountLimits has the rate limiter of each account. AWS limits the calls to an account, whichever role makes
// them.
type accountLimits struct {
	own *ratelimit.Schedule // of the controller's account

	mu         sync.Mutex
	ownAccount string                         // id of the controller's account, "" until it is known
	others     map[string]*ratelimit.Schedule // by id of the account
}

// schedule returns the rate limiter of the account that owns a target group.
func (t Groups) schedule(arn string) *ratelimit.Schedule {
	if t.account.Role == "" {
		// A target group that is changed without a role is in the controller's account.
		l := &t.limits
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ownAccount = cmp.Or(l.ownAccount, accountOfARN(arn))
		return l.own
	}
	return t.limitsOf(t.account)
}

// limitsOf returns the rate limiter of the account of a role.
func (t *Targets) limitsOf(a bindings.Account) *ratelimit.Schedule {
	l := &t.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	id := accountOfARN(a.Role)
	if id == l.ownAccount {
		return l.own
	}
	if l.others == nil {
		l.others = map[string]*ratelimit.Schedule{}
	}
	if l.others[id] == nil {
		l.others[id] = ratelimit.NewSchedule(ratelimit.NewLimiter(t.Config.TokenBuckets, t.Config.Clock, t.Config.MaxWait))
	}
	return l.others[id]
}

// Admit takes a token for a call that changes targets.
func (t Groups) Admit(operation, arn string, turn bindings.CallPriority, targets int) (ratelimit.Admission, error) {
	return t.schedule(arn).Admit(ratelimit.TargetCall{
		Operation: operation, TargetGroup: arn, Tenant: turn.Tenant, Within: turn.MaxDelay, Full: targets >= bindings.MaxTargets,
	})
}

// IsRetryable reports whether a call that failed may succeed when it is repeated.
func IsRetryable(err error) bool {
	class := sdk.ClassOf(err)
	return err != nil && (class == engine.Throttled || class == engine.Unknown)
}

// accountOfARN returns the id of the account in an ARN, or "" if there is none.
func accountOfARN(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}
