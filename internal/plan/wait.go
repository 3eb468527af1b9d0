package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Wait is what a step waits for. The step is not carried out in this run. The zero Wait waits for
// nothing.
type Wait struct {
	// For describes it for people.
	For string
	// Again is when another look is worth it; 0: as soon as is usual.
	Again time.Duration
	// Deadline is for how long the step waits at most, from the first plan in which it does. Then the
	// plan goes on without it. 0: nothing depends on the step, or what it waits for ends in time
	// whatever others do.
	Deadline time.Duration
}

// Waits reports whether the step has to wait.
func (s Step) Waits() bool { return s.Wait.For != "" }

// Waits take as long as health checks need by their settings and a margin, in which pods start and
// are registered. None takes longer than the maximum.
const (
	waitMargin  = 2 * time.Minute
	longestWait = 5 * time.Minute
)

// How often targets are asked for their health: often at first, then ever more rarely.
const (
	firstPoll = 3 * time.Second
	lastPoll  = 20 * time.Second
)

// pollAfter is when to look again at what has been waited for so long.
func pollAfter(waited time.Duration) time.Duration {
	return min(max(firstPoll, waited/4), lastPoll)
}

// wait returns the Wait of what the key identifies, or a zero one when its deadline has passed.
// Whoever makes plans remembers how long each key has been waited for: see Plan.Waiting.
func (st *steps) wait(key, what string, deadline time.Duration) Wait {
	if !st.waiting[key] {
		st.waiting[key] = true
		st.plan.Waiting = append(st.plan.Waiting, key)
	}
	waited := st.waited[key]
	if waited >= deadline {
		return Wait{}
	}
	return Wait{For: what, Again: min(pollAfter(waited), deadline-waited), Deadline: deadline}
}

// waitKey identifies what is waited for.
func waitKey(what string, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return what + " " + hex.EncodeToString(h.Sum(nil)[:12])
}

// targetsDeadline is for how long to wait until targets of the target groups are healthy.
func (t *traffic) targetsDeadline(groups []model.GroupRef) time.Duration {
	deadline := time.Duration(0)
	for _, g := range groups {
		c := t.healthCheck(g)
		// The defaults of AWS.
		interval, threshold := cmp.Or(c.IntervalSeconds, 30), cmp.Or(c.HealthyThreshold, 5)
		deadline = max(deadline, time.Duration(interval)*time.Duration(threshold)*time.Second+waitMargin)
	}
	return min(deadline, longestWait)
}

// healthCheck returns the health check of a target group, as far as it is known.
func (t *traffic) healthCheck(g model.GroupRef) model.HealthCheck {
	var c model.HealthCheck
	if w := t.desiredGroups[g.ID]; w != nil {
		c = w.HealthCheck
	}
	live := t.liveGroups[t.arn(g)].HealthCheck
	c.IntervalSeconds = cmp.Or(c.IntervalSeconds, live.IntervalSeconds)
	c.HealthyThreshold = cmp.Or(c.HealthyThreshold, live.HealthyThreshold)
	return c
}

// drainDeadline is for how long a target group's targets may take to let go of their connections:
// AWS ends that after the deregistration delay, which its owner has chosen.
func drainDeadline(attributes map[string]string) time.Duration {
	const byDefault, most = 300, 3600
	seconds, err := strconv.Atoi(attributes["deregistration_delay.timeout_seconds"])
	switch {
	case attributes == nil: // not read
		seconds = most
	case err != nil:
		seconds = byDefault
	}
	return time.Duration(min(seconds, most))*time.Second + time.Minute
}

// expired reports that a deadline has passed and that requests go to targets that are not healthy.
func (d *draft) expired(of finding.Origin, members []finding.Ref, what string, groups []model.GroupRef, deadline time.Duration) {
	object := of.Object
	if object.IsZero() && len(members) > 0 {
		object = members[0]
	}
	d.found.Add(finding.Finding{
		Object: object, Field: of.Field, Reason: finding.WaitExpired, Severity: finding.Warning,
		Message: fmt.Sprintf("%s has no healthy targets, or has targets whose first health checks are not over, after %s; %s forwards requests to it all the same",
			targetGroupsText(groups), deadline, what),
		Fix: "check the pods of the Service and the path, port and success codes of the health check",
	})
}

// refTexts are the names of target groups in a row.
func refTexts(groups []model.GroupRef) string {
	var out []string
	for _, g := range groups {
		out = append(out, refText(g))
	}
	return strings.Join(out, " and ")
}

func targetGroupsText(groups []model.GroupRef) string {
	out := "target group"
	for i, g := range groups {
		if i > 0 {
			out += " or"
		}
		out += fmt.Sprintf(" %q", refText(g))
	}
	return out
}
