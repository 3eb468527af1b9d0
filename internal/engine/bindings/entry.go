package bindings

import (
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// entry is what the process remembers of one binding. It is a value: a note that changes one of its maps stores another map,
// so that an entry stays as it was read.
type entry struct {
	// due is when the binding is compared with AWS though it did not change; zero before a run has seen it.
	due time.Time
	// outdated: the run that is under way may have compared too early.
	outdated bool
	// running is how many runs are under way, and run is the number of the note of the last one that began or ended.
	running, run int
	// complete: the last run left nothing to do.
	complete bool

	// absentSince is since when the binding, or what its endpoints are read from, is not there; zero while it is.
	absentSince time.Time
	// released: it has taken back what it put in.
	released bool
	// departed is the binding as it went while its target group was in use.
	departed *elbv2.TargetGroupBinding
	// waitingSince is since when it waits to leave for the Services of other bindings, as far as it still may.
	waitingSince time.Time

	registration registration
	overCapacity overCapacity
	// refused are the targets that AWS has refused, by identity.
	refused map[string]refusedTarget
	// flapping are the targets that came and went within the last seconds.
	flapping flapping
	// leavingSince is since when targets wait to be taken out, by id.
	leavingSince map[string]time.Time
	// zonesWanted is when AWS last asked for the zones of targets.
	zonesWanted time.Time

	// checkpoint is the one that was set last, nil for none, and written are the annotations for it and the one before.
	checkpoint *string
	written    writtenCheckpoints
	// textReported is when only the text of a fault was last written.
	textReported time.Time
	// silentSince is since when AWS does not answer its runs; zero: it has answered the last one.
	silentSince time.Time
	// successPending: AWS was changed, of which success is not reported yet, as a call waited.
	successPending bool
}

// planMemory returns what a plan needs of an entry.
func (e entry) planMemory(at moment) bindingplan.Memory {
	out := bindingplan.Memory{
		Known: !e.due.IsZero(), Released: e.released, SuccessPending: e.successPending, TextReported: e.textReported,
		Registered: e.registration.targets, HasCheckpoint: e.checkpoint != nil,
	}
	out.Flapping, out.FlappingFor, out.FlappingAlone = e.flapping.heldTargets(at.now)
	due := e.due
	if !out.Known {
		due = at.firstDue()
	}
	out.DueIn = due.Sub(at.now)
	if out.HasCheckpoint {
		out.Checkpoint = *e.checkpoint
	}
	if !e.absentSince.IsZero() {
		out.AbsentFor = at.now.Sub(e.absentSince)
	}
	if len(e.refused) > 0 {
		out.Refused = make(map[string]bindingplan.RefusedTarget, len(e.refused))
		for id, t := range e.refused {
			out.Refused[id] = t.RefusedTarget
		}
	}
	return out
}

// serviceAbsent reports whether the runs over a binding believe that its Service does not exist.
func (e entry) serviceAbsent(now time.Time) bool {
	return e.released || !e.absentSince.IsZero() && now.Sub(e.absentSince) >= durations.FirstBackOff
}

// lastKnown returns a binding that is not there any more as it was last seen, nil if it is not known.
func (e entry) lastKnown() *elbv2.TargetGroupBinding {
	if e.departed != nil {
		return e.departed
	}
	return e.registration.binding
}

// noteCarriedOut applies a note of a plan about the binding as it is stored.
func noteCarriedOut(n bindingplan.Note, stored *elbv2.TargetGroupBinding) note {
	return func(e entry, at moment) entry {
		switch n {
		case bindingplan.Known:
			if e.due.IsZero() {
				e.due = at.firstDue()
			}
		case bindingplan.BackendMissing:
			if e.absentSince.IsZero() {
				e.absentSince = at.now
			}
		case bindingplan.BackendSeen:
			e.absentSince, e.released = time.Time{}, false
		case bindingplan.Departed:
			e.departed = stored
		case bindingplan.Released:
			// Two that go at the same time each see the other's rules as wanted, so these are looked at once more
			// when it is gone.
			e.absentSince, e.released = time.Time{}, true
		case bindingplan.Compared:
			e.leavingSince, e.due = nil, at.now
			if !e.outdated {
				e.due = at.nextDue()
			}
		case bindingplan.SuccessPending:
			e.successPending = true
		case bindingplan.SuccessReported:
			e.successPending = false
		}
		return e
	}
}

// noteBegan notes a run that begins, which sees all that has happened before.
func noteBegan(e entry, at moment) entry {
	e.outdated, e.running, e.run = false, e.running+1, at.number
	return e
}

// noteEnded notes a run that ends, with nothing left to do if it is complete.
func noteEnded(complete bool) note {
	return func(e entry, at moment) entry {
		e.complete, e.running, e.run = complete, max(e.running-1, 0), at.number
		return e
	}
}

// noteDueNow lets the next run compare the binding with AWS, whatever it asks for and whatever a run that is under way has
// compared.
func noteDueNow(e entry, at moment) entry {
	e.outdated, e.due = true, at.now
	return e
}

// noteTextReported notes a status of which only the text of a fault is written.
func noteTextReported(e entry, at moment) entry {
	e.textReported = at.now
	return e
}

// noteLeaving notes targets that wait to be taken out, which are all of them.
func noteLeaving(list []*observed.Target) note {
	return func(e entry, at moment) entry {
		since := map[string]time.Time{}
		for _, t := range list {
			since[t.ID] = at.now
			if was, ok := e.leavingSince[t.ID]; ok {
				since[t.ID] = was
			}
		}
		e.leavingSince = since
		return e
	}
}

// wantsZones reports whether AWS has asked for the zones of the binding's targets.
func (e entry) wantsZones(now time.Time) bool {
	return !e.zonesWanted.IsZero() && now.Sub(e.zonesWanted) < durations.StableFactAge
}

// noteZonesWanted notes a call that AWS refused as it lacks zones.
func noteZonesWanted(e entry, at moment) entry {
	e.zonesWanted = at.now
	return e
}

// noteWaits notes a run that may have to wait for the Services of other bindings.
func noteWaits(e entry, at moment) entry {
	if e.waitingSince.IsZero() || at.now.Sub(e.waitingSince) >= durations.DeniedWait {
		e.waitingSince = at.now
	}
	return e
}

// mayWait reports whether the runs of a binding may still wait for the Services of others.
func (m *memory) mayWait(key Key) bool {
	return m.clock.Now().Sub(m.note(key, noteWaits).waitingSince) < durations.FollowUpTime
}
