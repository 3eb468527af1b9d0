package targets

import (
	"maps"
	"slices"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ownWrites are the targets that this process has registered or deregistered within the settle window. AWS may still list
// them in their previous state.
type ownWrites map[targetID]ownWrite

type targetID struct {
	id   string
	port int32
}

type ownWrite struct {
	target    *observed.Target
	writtenAt time.Time
}

// recordOwnWrite records targets that this process has just registered or deregistered, and updates the cached targets of the
// target group.
func (t TargetGroups) recordOwnWrite(arn string, list []*observed.Target) {
	key, now := t.key(arn), t.Config.Clock.Now()
	t.WithLock(func() {
		w := t.recentWrites[key]
		w.dropOld(now)
		if w == nil {
			w = ownWrites{}
			t.recentWrites[key] = w
		}
		for _, n := range list {
			w[targetID{n.ID, n.Port}] = ownWrite{n, now}
		}
		if h, ok := t.health[key]; ok {
			h.Targets = slices.Clone(h.Targets)
			for _, n := range list {
				h.Targets = applyWrite(h.Targets, n)
			}
			t.health[key] = h
		}
	})
}

// applyTo applies the writes to a sorted list of targets that AWS has returned. It first removes writes whose settle window
// is over.
func (w ownWrites) applyTo(listed []*observed.Target, now time.Time) []*observed.Target {
	w.dropOld(now)
	for _, own := range w {
		listed = applyWrite(listed, own.target)
	}
	return listed
}

// dropOld removes the writes whose settle window is over.
func (w ownWrites) dropOld(now time.Time) {
	maps.DeleteFunc(w, func(_ targetID, own ownWrite) bool { return now.Sub(own.writtenAt) > durations.SettleWindow })
}

// applyWrite applies one write to a sorted list of targets. It may change the list, but not the targets in it, because other
// lists contain the same targets.
func applyWrite(list []*observed.Target, written *observed.Target) []*observed.Target {
	leaving := isDeregistered(written)
	i, known := slices.BinarySearchFunc(list, written, compareTargets)
	if !known && !leaving {
		return slices.Insert(list, i, written)
	}
	for ; i < len(list) && compareTargets(list[i], written) == 0; i++ {
		if isDeregistered(list[i]) == leaving {
			continue
		}
		n := *list[i]
		n.State, n.Reason, n.Description = written.State, written.Reason, written.Description
		if !leaving {
			n = *written
		}
		list[i] = &n
	}
	return list
}

func isDeregistered(t *observed.Target) bool {
	return t.State == string(elbtypes.TargetHealthStateEnumDraining)
}
