package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/authority"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Replacements of withdrawn certificates
//
// A certificate is withdrawn if no member may use it any more. A listener whose only certificate is withdrawn gets the
// desired certificate of its port. If the listener still has the withdrawn certificate after a short time, because AWS
// refuses the desired certificate or does not import it, the listener is deleted. Without the deletion, the withdrawn
// certificate would stay in use as long as the desired certificate cannot be set.

// certificateWaitPrefix begins the keys of waits for the replacement of a withdrawn certificate.
const certificateWaitPrefix = "withdrawn certificate of port "

// certificateReplacements returns the replacements for authority.Revoke, by port. want is the desired state and have the
// observed state, from which nothing is removed yet.
func certificateReplacements(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) map[int32]authority.Replacement {
	withdrawn := have.Facts.Withdrawn
	have, without := authority.Revoke(have, nil)
	if len(without.WithdrawnDefaultPorts) == 0 {
		return nil
	}
	want, _ = withoutDepartedMembers(want, have, opt)
	r := resolve(want, have, opt, memory)
	out := map[int32]authority.Replacement{}
	desired := map[int32]resolved.Certificates{} // empty if the stack is held; its waits continue
	for _, l := range r.lb.Listeners {
		desired[l.Desired.Port] = l.Certs
	}
	for _, port := range without.WithdrawnDefaultPorts {
		certs, closed := desired[port], slices.Contains(without.ClosedPorts, port)
		_, gone := withdrawn.Certificates[model.ListenerCertificate{Port: port, ARN: certs.Default}]
		_, waits := memory.WaitedTimes[certificateWaitKey(port)]
		if closed && !gone && (certs.Default != "" || certs.ImportPending) ||
			!closed && waits { // another certificate was added, but is not the default certificate yet
			out[port] = authority.Replacement{ARN: certs.Default, IsOverdue: r.certificateWait(port).For == ""}
		}
	}
	return out
}

// certificateWait returns the wait for the replacement of a withdrawn certificate; the zero Wait if its time is over.
func (r *resolution) certificateWait(port int32) plan.Wait {
	return r.NewWait(certificateWaitKey(port), "the replacement of a withdrawn certificate", durations.ShortWait)
}

func certificateWaitKey(port int32) string { return certificateWaitPrefix + fmt.Sprint(port) }

// awaitCertificates records the waits for the replacement of withdrawn certificates. It reports whether a listener may still
// have a withdrawn certificate after an earlier plan. The rights of the members must then be determined.
func (r *resolution) awaitCertificates(replacements map[int32]authority.Replacement) bool {
	for _, port := range slices.Sorted(maps.Keys(replacements)) {
		if wait := r.certificateWait(port); wait.For != "" {
			r.RetryWithin(wait.RetryAfter)
		}
	}
	if len(replacements) > 0 {
		return true
	}
	for key := range r.Memory.WaitedTimes {
		if strings.HasPrefix(key, certificateWaitPrefix) {
			r.RetryWithin(durations.RecheckInterval)
			return true
		}
	}
	return false
}
