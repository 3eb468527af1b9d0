package bindings

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

var (
	startTime    = time.Unix(1000000, 0)
	errRefused   = errors.New("AWS says no")
	firstBinding = bindingOf("arn/a")
)

func bindingOf(arn string) *elbv2.TargetGroupBinding {
	return &elbv2.TargetGroupBinding{Spec: elbv2.TargetGroupBindingSpec{TargetGroupARN: arn}}
}

func endpoints(numbers ...int) (out []targets.Endpoint) {
	for _, i := range numbers {
		out = append(out, targets.Endpoint{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80})
	}
	return out
}

func observedTargets(numbers ...int) (out []*observed.Target) {
	for _, i := range numbers {
		out = append(out, &observed.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80})
	}
	return out
}

// momentAt returns the moment some minutes after startTime. The first comparison of the binding is due after a minute, and
// later ones every hour.
func momentAt(minute int) updateInput {
	return updateInput{now: startTime.Add(time.Duration(minute) * time.Minute), key: Key{Name: "a"}, firstComparisonDelay: time.Minute, resyncPeriod: time.Hour, number: minute}
}

// entryAfter returns the entry of a binding after these updates, which are applied one minute apart.
func entryAfter(updates ...update) (e entry) {
	for i, n := range updates {
		e = n(e, momentAt(i))
	}
	return e
}

func updateNothing(e entry, _ updateInput) entry { return e }

func planUpdate(n bindingplan.MemoryUpdate) update { return recordPlanUpdate(n, firstBinding) }

func refusalUpdate(class failure.Class, numbers ...int) update {
	return recordRefusedEndpoints(bindingplan.Refusal{Endpoints: endpoints(numbers...), AWSFailure: bindingplan.Failure{Err: errRefused, Class: class}})
}

// TestPlansGetTheFactsOfEarlierUpdates checks which facts the next plan gets from earlier updates. The plan is made one
// minute after the last update.
func TestPlansGetTheFactsOfEarlierUpdates(t *testing.T) {
	checkpoint := func(v string) update { return recordCheckpointSet(v) }
	for name, x := range map[string]struct {
		updates []update
		want    func(*bindingplan.Memory)
	}{
		"nothing": {nil, func(*bindingplan.Memory) {}},
		"a binding that was read is due after its first read": {[]update{planUpdate(bindingplan.RecordBindingRead), planUpdate(bindingplan.RecordBindingRead), updateNothing}, func(m *bindingplan.Memory) {
			m.WasRead, m.ComparisonDueIn = true, momentAt(0).firstDue().Sub(momentAt(3).now)
		}},
		"one that was compared is due later": {[]update{planUpdate(bindingplan.RecordBindingRead), planUpdate(bindingplan.RecordComparison)}, func(m *bindingplan.Memory) {
			m.WasRead, m.ComparisonDueIn = true, momentAt(1).nextDue().Sub(momentAt(2).now)
		}},
		"what changed during the run that compared is due": {[]update{planUpdate(bindingplan.RecordBindingRead), recordRunBegan, recordComparisonDueNow, planUpdate(bindingplan.RecordComparison)}, func(m *bindingplan.Memory) {
			m.WasRead, m.ComparisonDueIn = true, -time.Minute
		}},
		"a run sees what changed before it": {[]update{planUpdate(bindingplan.RecordBindingRead), recordComparisonDueNow, recordRunBegan, planUpdate(bindingplan.RecordComparison)}, func(m *bindingplan.Memory) {
			m.WasRead, m.ComparisonDueIn = true, momentAt(3).nextDue().Sub(momentAt(4).now)
		}},
		"a binding without a run is due": {[]update{recordComparisonDueNow}, func(m *bindingplan.Memory) { m.WasRead, m.ComparisonDueIn = true, -time.Minute }},
		"absence lasts from the first update": {[]update{planUpdate(bindingplan.RecordBackendMissing), planUpdate(bindingplan.RecordBackendMissing)}, func(m *bindingplan.Memory) {
			m.AbsentFor = 2 * time.Minute
		}},
		"what is there again is not absent": {[]update{planUpdate(bindingplan.RecordBackendMissing), planUpdate(bindingplan.RecordResourcesRemoved), planUpdate(bindingplan.RecordBackendFound)}, func(*bindingplan.Memory) {}},
		"one that has released is looked at once more": {[]update{planUpdate(bindingplan.RecordBackendMissing), planUpdate(bindingplan.RecordResourcesRemoved)}, func(m *bindingplan.Memory) {
			m.ResourcesRemoved = true
		}},
		"success is pending": {[]update{planUpdate(bindingplan.RecordSuccessPending)}, func(m *bindingplan.Memory) { m.SuccessPending = true }},
		"success is reported": {[]update{planUpdate(bindingplan.RecordSuccessPending), planUpdate(bindingplan.RecordSuccessReported)}, func(*bindingplan.Memory) {
		}},
		"the text of a fault": {[]update{recordFaultTextReported}, func(m *bindingplan.Memory) { m.FaultTextReportedAt = momentAt(0).now }},
		"an empty checkpoint is one": {[]update{checkpoint("x"), checkpoint("")}, func(m *bindingplan.Memory) {
			m.HasCheckpoint = true
		}},
		"refused targets": {[]update{refusalUpdate(failure.Invalid, 1)}, func(m *bindingplan.Memory) {
			m.RefusedTargets = map[string]bindingplan.RefusedTarget{endpoints(1)[0].Identity(): {
				AWSFailure: bindingplan.Failure{Err: errRefused, Class: failure.Invalid}, Until: momentAt(0).now.Add(durations.Requeue),
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			now := momentAt(len(x.updates))
			got, want := entryAfter(x.updates...).planMemory(now), bindingplan.Memory{ComparisonDueIn: now.firstDue().Sub(now.now)}
			if x.want(&want); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestUpdatesDoNotModifyEntriesInUse applies each update to an entry with all fields set, and checks that this entry itself
// does not change.
func TestUpdatesDoNotModifyEntriesInUse(t *testing.T) {
	full := func() entry {
		return entryAfter(recordRegistered(firstBinding, endpoints(1, 2)), refusalUpdate(failure.Invalid, 1, 2), recordLeavingTargets(observedTargets(1, 2)),
			recordRegisterCall("arn/a", 3, errRefused, true), recordCheckpointSet("x"), recordCheckpointWritten("x", 1))
	}
	e, want := full(), full()
	updates := []update{recordRegistered(firstBinding, endpoints(3)), recordFoundTargets(firstBinding, observedTargets(3)), recordDeregistered(firstBinding, observedTargets(1)), recordTargetGroupEmptied,
		refusalUpdate(failure.Invalid, 1, 3), removeOtherRefusals(endpoints(1)), recordLeavingTargets(observedTargets(2, 3)), recordRegisterCall("arn/a", 1, nil, false), recordUncertainRegistration,
		recordCheckpointSet("y"), recordCheckpointWritten("y", 2), recordZonesRequired, recordFaultTextReported, recordRunBegan, recordRunEnded(true), recordComparisonDueNow, recordMissingServices}
	for n := bindingplan.RecordBindingRead; n <= bindingplan.RecordRemovalNotNeeded; n++ {
		updates = append(updates, planUpdate(n))
	}
	for i, n := range updates {
		if n(e, momentAt(9)); !reflect.DeepEqual(e, want) {
			t.Fatalf("update %d has changed the entry to %+v\nwant %+v", i, e, want)
		}
	}
}

func TestRegistrationHasTheTargetsOfItsNotes(t *testing.T) {
	for name, x := range map[string]struct {
		updates []update
		has     []int
	}{
		"registered and found":      {[]update{recordRegistered(firstBinding, endpoints(1)), recordFoundTargets(firstBinding, observedTargets(2))}, []int{1, 2}},
		"taken out":                 {[]update{recordRegistered(firstBinding, endpoints(1, 2)), recordDeregistered(firstBinding, observedTargets(1))}, []int{2}},
		"in another target group":   {[]update{recordRegistered(firstBinding, endpoints(1)), recordRegistered(bindingOf("arn/b"), endpoints(2))}, []int{2}},
		"taken out of another":      {[]update{recordRegistered(firstBinding, endpoints(1)), recordDeregistered(bindingOf("arn/b"), observedTargets(1))}, []int{1}},
		"the target group was left": {[]update{recordRegistered(firstBinding, endpoints(1)), recordTargetGroupEmptied}, nil},
		"nothing is found":          {[]update{recordFoundTargets(firstBinding, nil)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := entryAfter(x.updates...)
			var has []int
			for i := range 4 {
				if e.registration.targets != nil && e.registration.targets.Has(observedTargets(i)[0]) {
					has = append(has, i)
				}
			}
			if !slices.Equal(has, x.has) || (e.lastKnownBinding() != nil) != (len(x.has) > 0) {
				t.Errorf("%v are registered, want %v; last known: %v", has, x.has, e.lastKnownBinding())
			}
		})
	}
	b := bindingOf("arn/gone")
	if e := entryAfter(recordRegistered(firstBinding, endpoints(1)), recordPlanUpdate(bindingplan.RecordDeletedInUse, b)); e.lastKnownBinding() != b {
		t.Errorf("a binding that departed is last known as %v", e.lastKnownBinding())
	}
}

// TestRefusedTargetsBackOff checks that the back-off of a target doubles with each further refusal. If the target is not
// desired for some time, the back-off begins again with the shortest delay.
func TestRefusedTargetsBackOff(t *testing.T) {
	again, id := refusalUpdate(failure.Invalid, 1), endpoints(1)[0].Identity()
	for name, x := range map[string]struct {
		updates []update
		want    time.Duration
	}{
		"once":                          {[]update{again}, durations.Requeue},
		"three times":                   {[]update{again, again, again}, 4 * durations.Requeue},
		"up to a limit":                 {slices.Repeat([]update{again}, 20), durations.LongestTransientBackOff},
		"for want of permission":        {[]update{refusalUpdate(failure.Denied, 1)}, durations.Requeue},
		"what may pass is not counted":  {[]update{refusalUpdate(failure.Throttled, 1)}, 0},
		"with another, which is wanted": {[]update{refusalUpdate(failure.Invalid, 1, 2), removeOtherRefusals(endpoints(1)), again}, 2 * durations.Requeue},
		"not wanted meanwhile":          {[]update{again, removeOtherRefusals(endpoints(2)), again}, durations.Requeue},
	} {
		t.Run(name, func(t *testing.T) {
			got := entryAfter(x.updates...).refusedTargets[id]
			if last := momentAt(len(x.updates) - 1).now; got.delay != x.want || x.want > 0 && got.Until != last.Add(x.want) {
				t.Errorf("waits %v until %v, want %v from %v", got.delay, got.Until, x.want, last)
			}
		})
	}
}

func TestAFullTargetGroupGetsNoRefusedTargets(t *testing.T) {
	full := recordRegisterCall("arn/a", 100, errRefused, true)
	for name, x := range map[string]struct {
		updates []update
		arn     string
		n       int
		wait    time.Duration
		fits    bool
	}{
		"as many":                       {[]update{full}, "arn/a", 100, 0, false},
		"fewer":                         {[]update{full}, "arn/a", 99, 0, true},
		"another target group":          {[]update{full}, "arn/b", 100, 0, true},
		"as many as do not fit besides": {[]update{full, recordRegisterCall("arn/a", 60, nil, false)}, "arn/a", 40, 0, false},
		"none fits besides":             {[]update{full, recordRegisterCall("arn/a", 200, nil, false)}, "arn/a", 1, 0, false},
		"once targets have left":        {[]update{full, recordDeregistered(firstBinding, nil)}, "arn/a", 100, 0, true},
		"after a while":                 {[]update{full}, "arn/a", 100, durations.LongestTransientBackOff, true},
		"a call that failed otherwise":  {[]update{recordRegisterCall("arn/a", 100, errRefused, false)}, "arn/a", 100, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := entryAfter(x.updates...).capacityRefusal.refusalFor(x.arn, x.n, startTime.Add(x.wait)); (err == nil) != x.fits {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLeavingTimeRestartsIfATargetIsDesiredAgain checks since when a target waits for its deregistration. If the target is
// desired again in between, the time starts again.
func TestLeavingTimeRestartsIfATargetIsDesiredAgain(t *testing.T) {
	for name, x := range map[string]struct {
		updates []update
		want    map[string]time.Time
	}{
		"since the first update": {[]update{recordLeavingTargets(observedTargets(1)), recordLeavingTargets(observedTargets(1))}, map[string]time.Time{"10.0.0.1": momentAt(0).now}},
		"wanted in between":      {[]update{recordLeavingTargets(observedTargets(1)), recordLeavingTargets(observedTargets(2)), recordLeavingTargets(observedTargets(1, 2))}, map[string]time.Time{"10.0.0.1": momentAt(2).now, "10.0.0.2": momentAt(1).now}},
		"taken out":              {[]update{recordLeavingTargets(observedTargets(1, 2)), recordDeregistered(firstBinding, observedTargets(1))}, map[string]time.Time{"10.0.0.2": momentAt(0).now}},
		"nothing is left to do":  {[]update{recordLeavingTargets(observedTargets(1)), planUpdate(bindingplan.RecordComparison)}, nil},
		"nothing waits any more": {[]update{recordLeavingTargets(observedTargets(1)), recordLeavingTargets(nil)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := entryAfter(x.updates...).leavingSince; !maps.Equal(got, x.want) {
				t.Errorf("waiting since %v, want %v", got, x.want)
			}
		})
	}
}

// TestDriftIsReportedOnlyAfterACompleteRegistration checks that changes by other clients are reported as drift only if the
// last run of the binding was complete and its last write is older than the settle window.
func TestDriftIsReportedOnlyAfterACompleteRegistration(t *testing.T) {
	register, done := recordRegistered(firstBinding, endpoints(1)), recordRunEnded(true)
	for name, x := range map[string]struct {
		updates []update
		wait    time.Duration // time since the last update
		want    bool
	}{
		"after a complete run":      {[]update{recordRunBegan, register, done}, durations.SettleWindow, true},
		"a moment after a call":     {[]update{recordRunBegan, done, register}, durations.SettleWindow, false},
		"after one that takes out":  {[]update{recordRunBegan, register, done, recordDeregistered(firstBinding, observedTargets(1))}, durations.SettleWindow, false},
		"after an incomplete run":   {[]update{recordRunBegan, register, recordRunEnded(false)}, time.Hour, false},
		"during the next run":       {[]update{recordRunBegan, register, done, recordRunBegan}, time.Hour, false},
		"nothing was registered":    {[]update{recordRunBegan, done}, time.Hour, false},
		"the target group was left": {[]update{recordRunBegan, register, done, recordTargetGroupEmptied}, time.Hour, false},
		"an end without a begin":    {[]update{register, done, recordRunBegan, done}, durations.SettleWindow, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := entryAfter(x.updates...).isVerifiable(momentAt(len(x.updates) - 1).now.Add(x.wait)); got != x.want {
				t.Errorf("verifiable: %v", got)
			}
		})
	}
}

func TestDriftListsMissingAndAddedTargets(t *testing.T) {
	shared := bindingOf("arn/a")
	shared.Spec.MultiClusterTargetGroup = true
	draining := observedTargets(1, 2)
	draining[1].State = "draining"
	for name, x := range map[string]struct {
		updates []update
		live    []*observed.Target
		want    string
	}{
		"nothing":                          {[]update{recordRegistered(firstBinding, endpoints(1, 2))}, observedTargets(1, 2), "|"},
		"one is missing, another is added": {[]update{recordRegistered(firstBinding, endpoints(1, 2))}, observedTargets(1, 3), "10.0.0.2:80|10.0.0.3:80"},
		"one that drains is missing":       {[]update{recordRegistered(firstBinding, endpoints(1, 2))}, draining, "10.0.0.2:80|"},
		"others may add to a shared group": {[]update{recordRegistered(shared, endpoints(1, 2))}, observedTargets(1, 3), "10.0.0.2:80|"},
		"what had no answer may be ours":   {[]update{recordRegistered(firstBinding, endpoints(1)), recordUncertainRegistration}, observedTargets(1, 3), "|"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := entryAfter(x.updates...).registration.driftIn(x.live).String(); got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
	of, rest := targetDrift{missing: []string{"a", "b"}, added: []string{"c"}}.split([]string{"b", "c", "d"})
	if of.String() != "b|c" || rest.String() != "a|" {
		t.Errorf("restored %q, and not %q", of, rest)
	}
}

func TestTheLastTwoWrittenCheckpointsAreRecognized(t *testing.T) {
	e := entryAfter(recordCheckpointWritten("x", 1), recordCheckpointWritten("y", 2), recordCheckpointWritten("z", 3))
	for _, x := range []struct {
		value, at string
		want      bool
	}{{"x", "1", false}, {"y", "2", true}, {"z", "3", true}, {"z", "2", false}, {"", "", false}} {
		if got := e.writtenCheckpoints.has([2]string{x.value, x.at}); got != x.want {
			t.Errorf("%s at %s: %v", x.value, x.at, got)
		}
	}
	if (writtenCheckpoints{}).has([2]string{}) {
		t.Error("a binding without a checkpoint has one that was written")
	}
}

// TestRunsWaitForOtherBindingsForALimitedTime checks that a run waits for the Services of other bindings for at most half a
// minute, and can wait again only five minutes after the begin of that wait. Otherwise a user who keeps editing bindings
// could prevent the removal of rules.
func TestRunsWaitForOtherBindingsForALimitedTime(t *testing.T) {
	now := startTime
	m := newMemory(Config{Clock: testclock.FromVariable(&now)})
	for _, x := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {29 * time.Second, true}, {30 * time.Second, false}, {299 * time.Second, false}, {5 * time.Minute, true}, {329 * time.Second, true}, {330 * time.Second, false}} {
		if now = startTime.Add(x.after); m.recordServiceWait(Key{Name: "a"}) != x.want {
			t.Errorf("after %v: not %v", x.after, x.want)
		}
	}
}

// TestZonesAreSentForALimitedTime checks that Availability Zones are sent for one hour after AWS required them. Later AWS
// may not require them any more.
func TestZonesAreSentForALimitedTime(t *testing.T) {
	e := entryAfter(recordZonesRequired)
	if (entry{}).needsZones(startTime) || !e.needsZones(startTime.Add(59*time.Minute)) || e.needsZones(startTime.Add(time.Hour)) {
		t.Error("zones are wanted at the wrong times")
	}
}

// TestServiceIsAbsentAfterAMoment checks that a Service is treated as deleted after it was missing for five seconds, or
// after all targets of the binding were removed.
func TestServiceIsAbsentAfterAMoment(t *testing.T) {
	missing := entryAfter(planUpdate(bindingplan.RecordBackendMissing))
	if (entry{}).isServiceAbsent(startTime) || missing.isServiceAbsent(startTime.Add(4*time.Second)) || !missing.isServiceAbsent(startTime.Add(5*time.Second)) {
		t.Error("absence is believed at the wrong times")
	}
	if !entryAfter(planUpdate(bindingplan.RecordResourcesRemoved)).isServiceAbsent(startTime) {
		t.Error("a binding that has released its targets has a Service")
	}
}

// TestEndOfARunCreatesNoEntry checks that a run that ends after the entry of its binding was removed does not
// create a new entry.
func TestEndOfARunCreatesNoEntry(t *testing.T) {
	m := newMemory(Config{Clock: testclock.FromVariable(&startTime)})
	key := Key{Name: "a"}
	m.update(key, recordRunBegan)
	m.update(key, recordRegistered(firstBinding, endpoints(1)))
	m.forget(key)
	m.updateIfKnown(key, recordRunEnded(true))
	m.updateIfKnown(key, recordComparisonDueNow)
	if len(m.entries) > 0 || m.get(key).lastKnownBinding() != nil {
		t.Errorf("remembered: %+v", m.entries)
	}
}

// TestRunNumbersAreUnique checks that each run has a different number (entry.lastRunUpdate), even if the entry of the binding
// was removed and created again. So code that reads an entry twice can detect a run in between.
func TestRunNumbersAreUnique(t *testing.T) {
	m := newMemory(Config{Clock: testclock.FromVariable(&startTime)})
	key := Key{Name: "a"}
	m.update(key, recordRunBegan)
	before := m.update(key, recordRunEnded(true))
	m.forget(key)
	m.update(key, recordRunBegan)
	if e := m.update(key, recordRunEnded(true)); e.lastRunUpdate == before.lastRunUpdate {
		t.Errorf("both are run %d", e.lastRunUpdate)
	}
}
