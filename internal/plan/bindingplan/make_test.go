package bindingplan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestPlansAndReportsForFacts checks the plan that is made from different facts, and the report after all steps have
// succeeded.
func TestPlansAndReportsForFacts(t *testing.T) {
	done := StepResults{RemovalNotNeeded: true, Rules: RulesResult{AllRulesExist: true}}
	for name, x := range map[string]struct {
		pods       []string
		edit       func(*Facts)
		plan       string
		report     string
		unfinished bool // whether the plan has questions
	}{
		"what is as it should be is reported once": {edit: func(*Facts) {},
			plan:   "known; backend seen; rules; checkpoint if rules are missing; no removal",
			report: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"an unchanged binding is left alone until it is due": {edit: setUnchanged,
			plan:   "known; no removal",
			report: "again in 1h0m0s"},
		"one that is due is compared with what AWS says": {edit: func(f *Facts) { setUnchanged(f); f.Memory.ComparisonDueIn = 0 },
			plan:   "known; backend seen; rules compared; checkpoint if rules are missing; no removal",
			report: "status True SuccessfullyReconciled; events; compared; checkpoint want; complete"},
		"one whose checkpoint was taken away is compared": {edit: func(f *Facts) { setUnchanged(f); f.StoredBinding.Annotations = nil },
			plan:   "known; backend seen; rules compared; checkpoint if rules are missing; no removal",
			report: "status True SuccessfullyReconciled; events; compared; checkpoint want; complete"},
		"a checkpoint of another writer counts for nothing": {edit: func(f *Facts) { setUnchanged(f); f.Memory.Checkpoint = "other" },
			plan:   "known; backend seen; rules; checkpoint if rules are missing; no removal",
			report: "status True SuccessfullyReconciled; events; compared; checkpoint want; complete"},
		"the finalizer comes first": {edit: func(f *Facts) { f.StoredBinding.Finalizers = nil },
			plan: "known; AddFinalizer"},
		"new endpoints come before old targets go": {edit: func(f *Facts) { f.Health = healthOf("1 healthy", "3 healthy") },
			plan:   "known; backend seen; rules; checkpoint; register 10.0.0.2; no removal; deregister 10.0.0.3 or later",
			report: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"a target that flaps waits, and the old ones that can serve stay": {edit: func(f *Facts) {
			f.Health = healthOf("1 healthy", "3 healthy", "4 healthy")
			setFlapping(f, "2")
			f.ServingPods = &ServingPods{AskedAddresses: map[string]bool{"10.0.0.3": true, "10.0.0.4": true}, Pods: map[string]*corev1.Pod{"10.0.0.3": {}}}
		},
			plan:   "known; backend seen; rules and of old targets; checkpoint; no removal; deregister 10.0.0.4 or later",
			report: "status True SuccessfullyReconciled observed; events ChangedTooOften; again in 20s"},
		"so does one that is registered, without a write": {edit: func(f *Facts) {
			f.Health = healthOf("1 healthy", "2 healthy", "3 healthy")
			setFlapping(f, "3")
			f.ServingPods = &ServingPods{AskedAddresses: map[string]bool{"10.0.0.3": true}, Pods: map[string]*corev1.Pod{"10.0.0.3": {}}}
		},
			plan:   "known; backend seen; rules and of old targets; checkpoint if rules are missing; no removal",
			report: "status True SuccessfullyReconciled observed; events ChangedTooOften; again in 20s"},
		"where no other target can serve, it comes after the first wait": {edit: func(f *Facts) {
			f.Health = healthOf()
			setFlapping(f, "1", "2")
			f.Memory.FlappingDelayIfAlone = 0
		},
			plan:   "known; backend seen; rules; checkpoint; register 10.0.0.1 10.0.0.2; no removal",
			report: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"and until then it waits": {edit: func(f *Facts) {
			f.Health = healthOf()
			setFlapping(f, "1", "2")
			f.Memory.FlappingDelayIfAlone = 3 * time.Second
		},
			plan:   "known; backend seen; rules; checkpoint if rules are missing; no removal",
			report: "status True SuccessfullyReconciled observed; events ChangedTooOften; again in 3s"},
		"others come and go meanwhile": {edit: func(f *Facts) {
			f.Health = healthOf("1 healthy", "3 healthy")
			setFlapping(f, "1")
			f.ServingPods = &ServingPods{AskedAddresses: map[string]bool{"10.0.0.3": true}, Pods: map[string]*corev1.Pod{"10.0.0.3": {}}}
		},
			plan:   "known; backend seen; rules; checkpoint; register 10.0.0.2; no removal; deregister 10.0.0.3 or later",
			report: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"a target group that is full gives up old targets first": {edit: func(f *Facts) { f.Health = healthOf("1 healthy", "3 healthy"); setRefused(f, quotaFailure) },
			plan:   "known; backend seen; no removal; deregister 10.0.0.3 or later; register 10.0.0.2 as many as fit",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"also those that would serve on": {edit: func(f *Facts) {
			f.Health = healthOf("1 initial", "3 healthy")
			f.ServingPods = &ServingPods{AskedAddresses: map[string]bool{"10.0.0.3": true}, Pods: map[string]*corev1.Pod{"10.0.0.3": {}}}
			setRefused(f, quotaFailure)
		},
			plan:   "known; backend seen; no removal; deregister 10.0.0.3 or later; register 10.0.0.2 as many as fit",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"a refused endpoint keeps no other out": {edit: func(f *Facts) { f.Health = healthOf("1 healthy", "3 healthy"); setRefused(f, invalidFailure) },
			plan:   "known; backend seen; no removal; deregister 10.0.0.3 or later",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"where none can be registered old pods that serve stay": {edit: func(f *Facts) {
			f.Health = healthOf("3 healthy", "4 healthy")
			f.Attempt = &RegistrationAttempt{Refusals: []Refusal{{f.Resolution.Endpoints(), invalidFailure, invalidFailure}}, LastFailure: &invalidFailure}
			f.ServingPods = &ServingPods{AskedAddresses: map[string]bool{"10.0.0.3": true, "10.0.0.4": true}, Pods: map[string]*corev1.Pod{"10.0.0.3": {}}}
		},
			plan:   "known; backend seen; no removal; deregister 10.0.0.4 or later",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"old pods serve on while all new ones are in their first checks": {edit: func(f *Facts) {
			f.Health = healthOf("1 initial", "2 initial", "3 healthy", "4 unhealthy")
			f.ServingPods = &ServingPods{AskedAddresses: map[string]bool{"10.0.0.3": true, "10.0.0.4": true}, Pods: map[string]*corev1.Pod{"10.0.0.3": {}, "10.0.0.4": {}}}
		},
			plan:   "known; backend seen; rules and of old targets; checkpoint; no removal; deregister 10.0.0.4 or later",
			report: "status True SuccessfullyReconciled observed; events; again in 2s"},
		"they go once one is healthy": {edit: func(f *Facts) {
			f.Health = healthOf("1 initial", "2 healthy", "3 healthy")
		},
			plan:   "known; backend seen; rules; checkpoint; no removal; deregister 10.0.0.3 or later",
			report: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"whether old pods serve is asked": {edit: func(f *Facts) {
			f.Health = healthOf("1 initial", "2 initial", "3 healthy")
		},
			plan: "ask Serving", unfinished: true},
		"health that decides is not taken from memory": {edit: func(f *Facts) {
			f.Health = healthOf("1 initial", "2 initial", "3 healthy")
			f.Health.MaxAge = durations.HealthAge
			f.ServingPods = &ServingPods{AskedAddresses: map[string]bool{"10.0.0.3": true}, Pods: map[string]*corev1.Pod{"10.0.0.3": {}}}
		},
			plan: "ask Health of 1s", unfinished: true},
		"pods without a server id are left out of a QUIC target group": {edit: func(f *Facts) {
			quic := elbv2.ProtocolQUIC
			f.StoredBinding.Spec.TargetGroupProtocol, f.LiveTargetGroup.TargetGroup.Protocol, f.Health.Targets = &quic, "QUIC", nil
		},
			plan:   "known; backend seen; rules; checkpoint if rules are missing; no removal",
			report: "status True SuccessfullyReconciled observed; events ServerIDMissing; compared; checkpoint want; complete"},
		"a refused endpoint is not sent again before its time": {edit: func(f *Facts) {
			f.Health = healthOf("1 healthy")
			f.Memory.RefusedTargets = map[string]RefusedTarget{"10.0.0.2:8080": {AWSFailure: invalidFailure, RunFailure: invalidFailure, Until: now.Add(time.Minute)}}
		},
			plan:   "known; backend seen; rules; checkpoint; RetainRefusals; no removal",
			report: "status False FailedReconcile; events FailedReconcile; again in 1m0s"},
		"and is then": {edit: func(f *Facts) {
			f.Health = healthOf("1 healthy")
			f.Memory.RefusedTargets = map[string]RefusedTarget{"10.0.0.2:8080": {AWSFailure: invalidFailure, RunFailure: invalidFailure, Until: now}}
		},
			plan:   "known; backend seen; rules; checkpoint; RetainRefusals; register 10.0.0.2; no removal",
			report: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"more endpoints than may be are left out": {edit: func(f *Facts) { f.Options.MaxTargets = 1; f.Health = healthOf("1 healthy") },
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "status True SuccessfullyReconciled observed; events TargetsCapped; again in 15s"},
		"in a shared group only recorded targets go, and the record is written first": {edit: func(f *Facts) {
			f.Health = healthOf("1 healthy", "3 healthy", "4 healthy")
			f.Record = &TargetRecord{Shared: true, HasRecord: true, Identities: map[string]bool{"10.0.0.1:8080": true, "10.0.0.3:8080": true}}
		},
			plan:   "known; backend seen; rules; checkpoint; record 3; register 10.0.0.2; no removal; deregister 10.0.0.3 or later",
			report: "record 2; status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"what another binding wants stays": {edit: func(f *Facts) {
			f.Health = healthOf("1 healthy", "2 healthy", "3 healthy", "4 healthy")
			f.Record.NeededByOthers = map[string]bool{"10.0.0.3:8080": true}
		},
			plan:   "known; backend seen; rules; checkpoint; no removal; deregister 10.0.0.4 or later",
			report: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"a binding that came second registers nothing": {edit: func(f *Facts) { f.Conflict.PrecedingBinding = testBinding() },
			plan:   "known; rules if it has any",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"nor does one of a target group of another namespace": {edit: func(f *Facts) { f.Conflict.OwnedByOtherNamespace = true },
			plan:   "known; rules if it has any",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"one that says another type than AWS registers nothing": {edit: func(f *Facts) { f.LiveTargetGroup.TargetGroup.AddressType = "ipv6" },
			plan:   "known; backend seen",
			report: "status False FailedReconcile; events FailedReconcile"},
		"what AWS cannot do is said": {edit: func(f *Facts) { x := elbv2.TargetType("lambda"); f.StoredBinding.Spec.TargetType = &x },
			plan:   "",
			report: "status False FailedReconcile; events FailedReconcile"},
		"a target group that cannot be described ends the run": {edit: func(f *Facts) { f.DescribeFailure = &temporaryFailure },
			plan:   "",
			report: "events FailedReconcile; error"},
		"one that does not exist is looked for again": {edit: func(f *Facts) { f.DescribeFailure = &goneFailure },
			plan:   "",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"targets that cannot be listed end the run": {edit: func(f *Facts) { f.Health.Failure = &deniedFailure },
			plan:   "known; backend seen",
			report: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"a call that waits is not a fault": {edit: func(f *Facts) { f.Health.Failure = &throttledFailure },
			plan:   "known; backend seen",
			report: "again in 3s; waiting"},
		"a record that cannot be read ends the run": {edit: func(f *Facts) { f.Record.Failure = &temporaryFailure },
			plan:   "known; backend seen",
			report: "error"},
		"a Service that is missing may be on its way": {edit: func(f *Facts) { f.Resolution = targets.Resolution{BackendMissing: true} },
			plan:   "known; backend missing; no removal",
			report: "again in 5s"},
		"then another one may take over": {edit: func(f *Facts) {
			f.Resolution, f.Memory.AbsentFor = targets.Resolution{BackendMissing: true}, time.Minute
		},
			plan: "ask NeededByStack", unfinished: true},
		"while the stack is to stay its targets stay": {edit: func(f *Facts) {
			f.Resolution, f.Memory.AbsentFor, f.NeededByStack = targets.Resolution{BackendMissing: true}, time.Minute, new(bool)
			*f.NeededByStack = true
		},
			plan:   "known; backend missing",
			report: "status False BackendNotFound observed; events; again in 4m0s"},
		"otherwise they go": {edit: func(f *Facts) {
			f.Resolution, f.Memory.AbsentFor, f.NeededByStack = targets.Resolution{BackendMissing: true}, time.Minute, new(bool)
		},
			plan:   "known; backend missing; checkpoint; no removal; deregister 10.0.0.1 10.0.0.2 if there; rules without it",
			report: "status False BackendNotFound observed; events"},
		"and after some minutes in any case": {edit: func(f *Facts) {
			f.Resolution, f.Memory.AbsentFor = targets.Resolution{BackendMissing: true}, 5*time.Minute
		},
			plan:   "known; backend missing; checkpoint; no removal; deregister 10.0.0.1 10.0.0.2 if there; rules without it",
			report: "status False BackendNotFound observed; events"},
		"endpoints that are missing as a whole change nothing": {edit: func(f *Facts) {
			f.Resolution, f.Memory.AbsentFor = targets.Resolution{SourceMissing: true}, time.Minute
		},
			plan:   "known; backend missing",
			report: "status False FailedReconcile; events"},
		"they may be on their way": {edit: func(f *Facts) { f.Resolution = targets.Resolution{SourceMissing: true} },
			plan:   "known; backend missing",
			report: "again in 5s"},
		"endpoints that are not known change nothing": {edit: func(f *Facts) {
			f.Resolution = targets.Resolution{Faulty: true, Findings: finding.List{{Object: targets.BindingRef(f.StoredBinding), Severity: finding.Error, Reason: finding.Unsupported}}}
		},
			plan:   "known; backend seen",
			report: "status False FailedReconcile; events FailedReconcile"},
		"a pod whose target is healthy opens its gate": {pods: []string{"!1", "2"}, edit: func(*Facts) {},
			plan:   "known; backend seen; rules; checkpoint if rules are missing; no removal",
			report: "gate p1 True; status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"health from memory opens no gate": {pods: []string{"!1", "2"}, edit: func(f *Facts) { f.Health.MaxAge = durations.HealthAge },
			plan: "ask Health of 1s", unfinished: true},
		"a pod in its first checks is looked at again soon": {pods: []string{"!1", "2"}, edit: func(f *Facts) { f.Health.Targets[0].State = "initial" },
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "gate p1 False; status True SuccessfullyReconciled observed; events; again in 2s"},
		"and later not so soon": {pods: []string{"!1", "2"}, edit: func(f *Facts) {
			f.Health.Targets[0].State = "initial"
			setCondition(f.GatedPods[0], "False", "", 30*time.Second)
		},
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "status True SuccessfullyReconciled observed; events; again in 5s"},
		"and then at the usual time": {pods: []string{"!1", "2"}, edit: func(f *Facts) {
			f.Health.Targets[0].State = "initial"
			setCondition(f.GatedPods[0], "False", "", time.Hour)
		},
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "status True SuccessfullyReconciled observed; events; again in 15s"},
		"a target that no load balancer uses is looked at again": {pods: []string{"!1", "2"}, edit: func(f *Facts) { setNotInUse(f, time.Minute) },
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "status True SuccessfullyReconciled observed; events; again in 15s"},
		"after a while it is asked whether anything forwards to it": {pods: []string{"!1", "2"}, edit: func(f *Facts) { setNotInUse(f, durations.DeadlineMargin) },
			plan: "ask Forwards", unfinished: true},
		"if nothing does its pod waits no longer": {pods: []string{"!1", "2"}, edit: func(f *Facts) { setNotInUse(f, durations.DeadlineMargin); f.Forwards = &ForwardingAnswer{} },
			plan:   "known; backend seen; rules; checkpoint if rules are missing; no removal",
			report: "gate p1 True Target.NotInUse; status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"if a load balancer does that is not in its zone it waits": {pods: []string{"!1", "2"}, edit: func(f *Facts) { setNotInUse(f, time.Hour); f.Forwards = &ForwardingAnswer{Found: true} },
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "status True SuccessfullyReconciled observed; events; again in 5m0s"},
		"if that cannot be read it waits": {pods: []string{"!1", "2"}, edit: func(f *Facts) { setNotInUse(f, time.Hour); f.Forwards = &ForwardingAnswer{Failure: &deniedFailure} },
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "status True SuccessfullyReconciled observed; events; again in 5m0s"},
		"an unhealthy pod does not wait on the time that it was unhealthy": {pods: []string{"!1", "2"}, edit: func(f *Facts) {
			f.Health.Targets[0].State, f.Health.Targets[0].Reason = "unused", "Target.NotInUse"
			setCondition(f.GatedPods[0], "False", "Target.Timeout", time.Hour)
		},
			plan:   "known; backend seen; rules; checkpoint; no removal",
			report: "gate p1 Unknown Target.NotInUse; status True SuccessfullyReconciled observed; events; again in 2s"},
		"a new pod does not wait again": {pods: []string{"!1", "!2"}, edit: func(f *Facts) {
			setNotInUse(f, time.Hour)
			f.Health.Targets[1].State, f.Health.Targets[1].Reason = "unused", "Target.NotInUse"
			shown := &f.GatedPods[0].Status.Conditions[len(f.GatedPods[0].Status.Conditions)-1]
			shown.Status, shown.Message = corev1.ConditionTrue, targets.NotInUseCondition.Message
			f.Forwards = &ForwardingAnswer{}
		},
			plan:   "known; backend seen; rules; checkpoint if rules are missing; no removal",
			report: "gate p2 True Target.NotInUse; status True SuccessfullyReconciled observed; events; compared; checkpoint want; complete"},
		"a pod that waits for what a person must do shows that": {pods: []string{"!1", "2"}, edit: func(f *Facts) { f.DescribeFailure = &deniedFailure },
			plan:   "",
			report: "gate p1 False AccessDenied; status False FailedReconcile; events FailedReconcile; again in 5m0s"},

		"a binding that goes takes out what it put in": {edit: func(f *Facts) { setDeleted(f, false) },
			plan: "known; no removal; deregister 10.0.0.1 10.0.0.2 if there; rules without it; RemoveFinalizer; released"},
		"and lets waiting pods go": {pods: []string{"!1"}, edit: func(f *Facts) { setDeleted(f, false) },
			plan: "known; no removal; deregister 10.0.0.1 10.0.0.2 if there; rules without it; gate p1 True; RemoveFinalizer; released"},
		"it asks first whether its target group is in use": {edit: func(f *Facts) { setDeleted(f, false); f.InUse = nil },
			plan: "ask InUse", unfinished: true},
		"while it is in use the targets stay": {edit: func(f *Facts) { setDeleted(f, false); f.InUse.Used = true },
			plan: "known; departed; events RemovalNotTrusted; RemoveFinalizer"},
		"whether it is in use has to be known": {edit: func(f *Facts) { setDeleted(f, false); f.InUse.Failure = &deniedFailure },
			plan:   "known",
			report: "status False FailedCleanup; events FailedCleanup; error"},
		"one without a finalizer goes": {edit: func(f *Facts) { setDeleted(f, false); f.StoredBinding.Finalizers = nil },
			plan: ""},
		"a target group that is gone is no obstacle": {edit: func(f *Facts) { setDeleted(f, false); f.Health.Failure = &goneFailure },
			plan: "known; rules without it; RemoveFinalizer; released"},
		"nor one that cannot be found": {edit: func(f *Facts) { setDeleted(f, false); f.DescribeFailure = &goneFailure },
			plan: "known; rules without it; RemoveFinalizer; released"},
		"one that cannot be read is": {edit: func(f *Facts) { setDeleted(f, false); f.Health.Failure = &deniedFailure },
			plan:   "known",
			report: "status False FailedCleanup; events FailedCleanup; error"},
		"one that waits is tried again": {edit: func(f *Facts) { setDeleted(f, false); f.Health.Failure = &throttledFailure },
			plan:   "known",
			report: "again in 3s; waiting"},
		"what it does not know it asks for": {edit: func(f *Facts) { setDeleted(f, false); f.CompletedBinding = nil },
			plan: "ask Described", unfinished: true},
		"a binding that came second takes nothing out": {edit: func(f *Facts) { setDeleted(f, false); f.Conflict.PrecedingBinding = testBinding() },
			plan: "known; rules without it; RemoveFinalizer; released"},
		"a shared group keeps what is not recorded": {edit: func(f *Facts) { setDeleted(f, false); setShared(f) },
			plan: "known; no removal; deregister 10.0.0.1 if there; DropRecord; rules without it; RemoveFinalizer; released"},
		"a binding that disappeared may come back": {edit: func(f *Facts) { setDeleted(f, true) },
			plan:   "backend missing",
			report: "again in 1m0s"},
		"one that does not is tidied up after": {edit: func(f *Facts) { setDeleted(f, true); f.Memory.AbsentFor = time.Hour },
			plan:   "backend missing; no removal; deregister 10.0.0.1 10.0.0.2 if there or later; rules without it",
			report: "forgotten; events"},
		"unless its target group is in use": {edit: func(f *Facts) { setDeleted(f, true); f.Memory.AbsentFor = time.Hour; f.InUse.Used = true },
			plan:   "backend missing",
			report: "again in 1m0s"},
		"which has to be known": {edit: func(f *Facts) {
			setDeleted(f, true)
			f.Memory.AbsentFor = time.Hour
			f.InUse.Failure = &temporaryFailure
		},
			plan:   "backend missing",
			report: "error"},
		"taking its targets out may have to wait": {edit: func(f *Facts) {
			setDeleted(f, true)
			f.Memory.AbsentFor = time.Hour
			f.Health.Failure = &throttledFailure
		},
			plan:   "backend missing; rules without it",
			report: "again in 3s; waiting"},
		"one that has released its targets leaves only rules": {edit: func(f *Facts) { setDeleted(f, true); f.Memory.ResourcesRemoved = true },
			plan:   "backend missing; rules without it",
			report: "forgotten; events"},
		"pods that wait for one that never was are let go": {pods: []string{"!1"}, edit: func(f *Facts) { setDeleted(f, true); f.StoredBinding, f.Memory = nil, Memory{AbsentFor: time.Minute} },
			plan:   "backend missing; gate p1 True; rules without it if it has any",
			report: "forgotten; events"},
		"but not before it could have arrived": {pods: []string{"!1"}, edit: func(f *Facts) { setDeleted(f, true); f.StoredBinding, f.Memory = nil, Memory{} },
			plan:   "backend missing",
			report: "again in 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			f := completeFacts(t, x.pods...)
			x.edit(f)
			p := Make(f)
			if got := withoutEmptyParts(planText(p)); got != x.plan {
				t.Errorf("plan\n got %s\nwant %s", got, x.plan)
			}
			if (len(p.Questions) > 0) != x.unfinished {
				t.Errorf("the plan asks for %d facts", len(p.Questions))
			}
			if x.unfinished {
				return
			}
			if got := withoutEmptyParts(reportText(p.Report(f, done))); got != x.report {
				t.Errorf("report\n got %s\nwant %s", got, x.report)
			}
		})
	}
}

// setUnchanged changes the facts to those of a binding whose last run was complete and that has not changed since.
func setUnchanged(f *Facts) {
	f.StoredBinding.Annotations = map[string]string{targets.CheckpointAnnotation: f.DesiredCheckpoint}
	f.StoredBinding.Status.ObservedGeneration = &f.StoredBinding.Generation
	f.Memory.Checkpoint, f.Memory.HasCheckpoint = f.DesiredCheckpoint, true
}

// setRefused changes the facts to those of a run in which AWS refused to register all endpoints except the first.
func setRefused(f *Facts, why Failure) {
	f.Attempt = &RegistrationAttempt{Refusals: []Refusal{{f.Resolution.Endpoints()[1:], why, why}}, LastFailure: &why}
}

// setShared changes the facts to those of a target group that several clusters share. The record of this cluster has target
// 1.
func setShared(f *Facts) {
	f.StoredBinding.Spec.MultiClusterTargetGroup = true
	f.Record.Shared, f.Record.HasRecord, f.Record.Identities = true, true, map[string]bool{"10.0.0.1:8080": true}
}

// setFlapping changes the facts so that the targets with these numbers flap and are delayed for 20 s.
func setFlapping(f *Facts, numbers ...string) {
	f.Memory.FlappingDelay, f.Memory.FlappingTargets = 20*time.Second, map[string]bool{}
	for _, n := range numbers {
		f.Memory.FlappingTargets["10.0.0."+n] = true
	}
}
