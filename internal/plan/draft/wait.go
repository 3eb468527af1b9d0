package draft

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// PollInterval returns the time until a condition is checked again. waited is the time for which the wait has already
// lasted.
func PollInterval(waited time.Duration) time.Duration {
	return min(max(durations.FirstPoll, waited/4), durations.LastPoll)
}

// NewWait returns a wait with a deadline; the zero Wait if the deadline has passed. key identifies the wait in
// plan.Plan.WaitKeys, and what describes the condition (plan.Wait.For).
func (st *Steps) NewWait(key, what string, deadline time.Duration) plan.Wait {
	if !st.waitKeys[key] {
		st.waitKeys[key] = true
		st.Plan.WaitKeys = append(st.Plan.WaitKeys, key)
	}
	waited := st.waitTimes[key]
	if waited >= deadline {
		return plan.Wait{}
	}
	return plan.Wait{For: what, RetryAfter: min(PollInterval(waited), deadline-waited), Deadline: deadline}
}

// AwaitActive returns the wait for a load balancer to be active. It has no deadline, because a load balancer that AWS is
// still creating answers no requests. If the creation has failed, the caller must set a longer RetryAfter. what describes
// the condition (plan.Wait.For).
func (st *Steps) AwaitActive(arn, what string) plan.Wait {
	st.Ask(model.AskState{ARN: arn})
	return plan.Wait{For: what, RetryAfter: 4 * durations.FirstPoll} // AWS is queried for the state at most every ten seconds
}

// WaitKey returns a key for a wait. The key consists of what, the kind of the wait, and a hash of the parts, which identify
// the wait.
func WaitKey(what string, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return what + " " + hex.EncodeToString(h.Sum(nil)[:12])
}
