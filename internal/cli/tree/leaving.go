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

// Leaving is a member that goes to another load balancer, and that this one still serves.
type Leaving struct {
	Object output.Object `json:"object"`
	// Until is when its part of the load balancer is deleted. It is missing while its status shows this load balancer,
	// which is until the other one serves it as well.
	Until string `json:"until,omitempty"`
}

// String returns the same in words.
func (l Leaving) String() string {
	if l.Until == "" {
		return fmt.Sprintf("%s is leaving for another load balancer; this one serves it until the other one does", finding.Ref(l.Object))
	}
	return fmt.Sprintf("%s has left for another load balancer; this one serves clients that still have its addresses until %s, and deletes its part of it then", finding.Ref(l.Object), l.Until)
}

// ShowLeaving prints the members that leave a load balancer.
func ShowLeaving(w io.Writer, left []Leaving) {
	output.ShowFirst(left, output.MaxShownMembers, func(l Leaving) { fmt.Fprintf(w, "# %s\n", finding.Printable(l.String())) },
		func(n int) { fmt.Fprintf(w, "# … and %d more that leave\n", n) })
}

// LeavingOf returns the members of a stack that go to another one and are still served here: the plan has no step for
// them yet.
func LeavingOf(d engine.Draft, c config.Config, now time.Time) []Leaving {
	var out []Leaving
	for _, x := range d.Stack.Leavers {
		one := Leaving{Object: output.Object(x.Member)}
		until := x.Since.Add(c.Replacement.DeletionDelay)
		switch {
		case c.Replacement.Order != config.CreateFirst || !x.Since.IsZero() && !now.Before(until):
			continue // the plan deletes its part
		case !x.Since.IsZero():
			one.Until = until.UTC().Format(time.RFC3339)
		}
		out = append(out, one)
	}
	return out
}
