package bindings

import (
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// entry is the memory of the process about one binding. Its maps are never changed in place: an update stores a changed copy
// of a map, so that an entry that a run has already read does not change.
type entry struct {
	// comparisonDueAt is the time of the next comparison with AWS without an edit; zero before the first run.
	comparisonDueAt time.Time
	// compareAgain reports whether a comparison with AWS was requested while a run was active. The next run must then
	// compare the binding.
	compareAgain bool
	// activeRuns is the number of current runs.
	activeRuns int
	// lastRunUpdate is the number (moment.number) of the last update that recorded the start or the end of a run.
	lastRunUpdate int
	// lastRunComplete reports whether the last run left nothing to do.
	lastRunComplete bool

	// absentSince is the time at which the binding or its Service was first missing; zero if both exist.
	absentSince time.Time
	// wasReleased reports whether all targets of the binding were deregistered and all its rules were removed.
	wasReleased bool
	// deletedBinding is the last content of a binding that was deleted while its target group was in use.
	deletedBinding *elbv2.TargetGroupBinding
	// waitingSince is the time at which the binding, which is being deleted, began to wait for the Services of other
	// bindings.
	waitingSince time.Time

	registration    registration
	capacityRefusal capacityRefusal
	// refusedTargets are the targets that AWS refused to register, by identity.
	refusedTargets map[string]refusedTarget
	// flappingTargets has the targets that were recently deregistered or registered again.
	flappingTargets flappingTargets
	// leavingSince is the time since which a target waits for its deregistration, by target ID.
	leavingSince map[string]time.Time
	// zonesRequiredAt is the time at which AWS last refused targets without an Availability Zone.
	zonesRequiredAt time.Time

	// checkpoint is the checkpoint annotation that was set last; nil: none.
	checkpoint *string
	// writtenCheckpoints are the last two checkpoint annotations that this process wrote.
	writtenCheckpoints writtenCheckpoints
	// faultTextReportedAt is the time at which a status was last written only because the text of a fault had changed.
	faultTextReportedAt time.Time
	// unansweredSince is the time since which AWS has not answered the runs of the binding; zero: AWS answered the last run.
	unansweredSince time.Time
	// successPending reports whether AWS was changed, but the success is not reported yet because a call was postponed.
	successPending bool
}

// planMemory returns the part of an entry that a plan depends on. at.now is the current time.
func (e entry) planMemory(at updateInput) bindingplan.Memory {
	out := bindingplan.Memory{
		WasRead: !e.comparisonDueAt.IsZero(), ResourcesRemoved: e.wasReleased, SuccessPending: e.successPending, FaultTextReportedAt: e.faultTextReportedAt,
		RegisteredTargets: e.registration.targets, HasCheckpoint: e.checkpoint != nil,
	}
	out.FlappingTargets, out.FlappingDelay, out.FlappingDelayIfAlone = e.flappingTargets.delayedTargets(at.now)
	due := e.comparisonDueAt
	if !out.WasRead {
		due = at.firstDue()
	}
	out.ComparisonDueIn = due.Sub(at.now)
	if out.HasCheckpoint {
		out.Checkpoint = *e.checkpoint
	}
	if !e.absentSince.IsZero() {
		out.AbsentFor = at.now.Sub(e.absentSince)
	}
	if len(e.refusedTargets) > 0 {
		out.RefusedTargets = make(map[string]bindingplan.RefusedTarget, len(e.refusedTargets))
		for id, t := range e.refusedTargets {
			out.RefusedTargets[id] = t.RefusedTarget
		}
	}
	return out
}

// isServiceAbsent reports whether the Service of the binding has been missing for so long that it is treated as deleted.
func (e entry) isServiceAbsent(now time.Time) bool {
	return e.wasReleased || !e.absentSince.IsZero() && now.Sub(e.absentSince) >= durations.FirstBackOff
}

// lastKnownBinding returns the last known content of a binding that does not exist any more; nil if it is not known.
func (e entry) lastKnownBinding() *elbv2.TargetGroupBinding {
	if e.deletedBinding != nil {
		return e.deletedBinding
	}
	return e.registration.binding
}

// recordPlanUpdate returns an update that changes the entry for n, a step of a plan that was carried out. stored is the
// binding in Kubernetes.
func recordPlanUpdate(n bindingplan.MemoryUpdate, stored *elbv2.TargetGroupBinding) update {
	return func(e entry, at updateInput) entry {
		switch n {
		case bindingplan.RecordBindingRead:
			if e.comparisonDueAt.IsZero() {
				e.comparisonDueAt = at.firstDue()
			}
		case bindingplan.RecordBackendMissing:
			if e.absentSince.IsZero() {
				e.absentSince = at.now
			}
		case bindingplan.RecordBackendFound:
			e.absentSince, e.wasReleased = time.Time{}, false
		case bindingplan.RecordDeletedInUse:
			e.deletedBinding = stored
		case bindingplan.RecordResourcesRemoved:
			// absentSince is cleared so that the rules are compared again after the binding is deleted. This is necessary if
			// two bindings are deleted at the same time, because each binding treats the rules of the other binding as
			// desired.
			e.absentSince, e.wasReleased = time.Time{}, true
		case bindingplan.RecordComparison:
			e.leavingSince, e.comparisonDueAt = nil, at.now
			if !e.compareAgain {
				e.comparisonDueAt = at.nextDue()
			}
		case bindingplan.RecordSuccessPending:
			e.successPending = true
		case bindingplan.RecordSuccessReported:
			e.successPending = false
		}
		return e
	}
}

// recordRunBegan records that a run begins. Earlier requests for a comparison are cleared, because this run fulfils them.
func recordRunBegan(e entry, at updateInput) entry {
	e.compareAgain, e.activeRuns, e.lastRunUpdate = false, e.activeRuns+1, at.number
	return e
}

// recordRunEnded returns an update that records the end of a run. complete reports whether the run left nothing to do.
func recordRunEnded(complete bool) update {
	return func(e entry, at updateInput) entry {
		e.lastRunComplete, e.activeRuns, e.lastRunUpdate = complete, max(e.activeRuns-1, 0), at.number
		return e
	}
}

// recordComparisonDueNow makes the next run compare the binding with AWS, even if a current run has just compared it.
func recordComparisonDueNow(e entry, at updateInput) entry {
	e.compareAgain, e.comparisonDueAt = true, at.now
	return e
}

// recordFaultTextReported records that a status is written only because the text of a fault has changed.
func recordFaultTextReported(e entry, at updateInput) entry {
	e.faultTextReportedAt = at.now
	return e
}

// recordLeavingTargets returns an update that replaces the targets that wait for their deregistration. A target that already
// waited keeps the time since which it has waited.
func recordLeavingTargets(list []*observed.Target) update {
	return func(e entry, at updateInput) entry {
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

// needsZones reports whether AWS recently refused targets of the binding without an Availability Zone.
func (e entry) needsZones(now time.Time) bool {
	return !e.zonesRequiredAt.IsZero() && now.Sub(e.zonesRequiredAt) < durations.StableFactAge
}

// recordZonesRequired records that AWS refused targets without an Availability Zone.
func recordZonesRequired(e entry, at updateInput) entry {
	e.zonesRequiredAt = at.now
	return e
}

// recordMissingServices records that a run may have to wait for the Services of other bindings. If the recorded wait began
// more than five minutes ago, a new wait begins now.
func recordMissingServices(e entry, at updateInput) entry {
	if e.waitingSince.IsZero() || at.now.Sub(e.waitingSince) >= durations.LongestTransientBackOff {
		e.waitingSince = at.now
	}
	return e
}

// recordServiceWait records that a binding waits for the Services of other bindings, and reports whether it may wait longer.
func (m *memory) recordServiceWait(key Key) bool {
	return m.clock.Now().Sub(m.update(key, recordMissingServices).waitingSince) < durations.FollowUpTime
}
