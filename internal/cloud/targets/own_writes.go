package targets

import (
	"maps"
	"slices"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ownWrites are targets as this process has registered or deregistered them, by identity. AWS may take a while to show
// that: until then what it lists says nothing about them.
type ownWrites map[targetID]ownWrite

type targetID struct {
	id   string
	port int32
}

type ownWrite struct {
	target *observed.Target
	at     time.Time
}

// noteOwnWrite notes own writes, and lays them over the remembered targets.
func (t Groups) noteOwnWrite(arn string, list []*observed.Target) {
	key, now := t.key(arn), t.Config.Clock.Now()
	t.With(func() {
		w := t.writes[key]
		w.forget(now)
		if w == nil {
			w = ownWrites{}
			t.writes[key] = w
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

// applyTo lays the writes over targets that AWS has listed.
func (w ownWrites) applyTo(listed []*observed.Target, now time.Time) []*observed.Target {
	w.forget(now)
	for _, own := range w {
		listed = applyWrite(listed, own.target)
	}
	return listed
}

// forget drops the writes that AWS shows by now.
func (w ownWrites) forget(now time.Time) {
	maps.DeleteFunc(w, func(_ targetID, own ownWrite) bool { return now.Sub(own.at) > durations.Settle })
}

// applyWrite lays one write over a sorted list of targets. The list may be changed, but not the targets, which others
// have too.
func applyWrite(have []*observed.Target, own *observed.Target) []*observed.Target {
	leaves := deregistered(own)
	i, known := slices.BinarySearchFunc(have, own, compareTargets)
	if !known && !leaves {
		return slices.Insert(have, i, own)
	}
	for ; i < len(have) && compareTargets(have[i], own) == 0; i++ {
		if deregistered(have[i]) == leaves {
			continue
		}
		n := *have[i]
		n.State, n.Reason, n.Description = own.State, own.Reason, own.Description
		if !leaves {
			n = *own
		}
		have[i] = &n
	}
	return have
}

func deregistered(t *observed.Target) bool {
	return t.State == string(elbtypes.TargetHealthStateEnumDraining)
}
