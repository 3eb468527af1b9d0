package tree

import (
	"fmt"
	"io"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// LeavingMember is a member that moves to another load balancer, while this load balancer still serves it.
type LeavingMember struct {
	Object output.Object `json:"object"`
	// Until is when the rules and target groups of the object are deleted from this load balancer. It is missing as long
	// as the other load balancer does not serve the object. As long as it is missing, the status of the object shows this
	// load balancer.
	Until string `json:"until,omitempty"`
}

// String returns a sentence about the progress of the move.
func (l LeavingMember) String() string {
	if l.Until == "" {
		return fmt.Sprintf("%s is moving to another load balancer; this load balancer serves it until the other one serves it", finding.Ref(l.Object))
	}
	return fmt.Sprintf("%s has moved to another load balancer; this load balancer serves clients that still have its addresses until %s; then its rules and target groups for the object are deleted", finding.Ref(l.Object), l.Until)
}

// ShowLeavingMembers prints the members that leave a load balancer.
func ShowLeavingMembers(w io.Writer, leaving []LeavingMember) {
	output.ShowFirst(leaving, output.MaxShownMembers, func(l LeavingMember) { fmt.Fprintf(w, "# %s\n", finding.EscapeNonPrintable(l.String())) }, output.ShowMore(w, "# … and %d more members that are moving"))
}

// LeavingMembersOf returns the members of a stack that move to another stack, while this stack still serves them. It omits
// members whose rules and target groups the plan deletes.
func LeavingMembersOf(d engine.Draft, c config.Config, now time.Time) []LeavingMember {
	var out []LeavingMember
	for _, x := range d.Stack.MovesOut {
		member := LeavingMember{Object: output.Object(x.Member)}
		until := x.Since.Add(c.Replacement.DeletionDelay)
		switch {
		case c.Replacement.Order != config.CreateFirst || !x.Since.IsZero() && !now.Before(until):
			continue // the plan deletes the rules and target groups of the member
		case !x.Since.IsZero():
			member.Until = until.UTC().Format(time.RFC3339)
		}
		out = append(out, member)
	}
	return out
}
