package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// stepCaller simulates runs: it calls the steps whose back-off has ended, and records which steps were called. AWS refuses
// the steps in refusedContents.
type stepCaller struct {
	t               *testing.T
	refusalMemory   refusals
	now             time.Time
	calls           []string                 // contents of the steps that the last run called
	edited          bool                     // whether the desired state was edited before each run
	refusedContents map[string]failure.Class // class of the error, by the content of the step; all other steps succeed
}

func newStepCaller(t *testing.T) *stepCaller {
	return &stepCaller{t: t, now: time.Unix(1000, 0), refusedContents: map[string]failure.Class{}}
}

// deletionStep returns a step that deletes a rule. content distinguishes the step from other deletions in the same
// namespace.
func deletionStep(namespace, content string) (stepKey, plan.Step) {
	k := stepKey{operation: "delete", call: "DeleteRule", address: plan.Address{Kind: plan.Rule, ID: content}, namespace: namespace, content: content}
	return k, plan.Step{ID: plan.StepID("delete " + content), Address: k.address, Verb: plan.Delete}
}

// creationStep returns a step that creates a rule. content distinguishes the step from other creations in the same
// namespace.
func creationStep(namespace, content string) (stepKey, plan.Step) {
	k := stepKey{operation: "create", call: "CreateRule", address: plan.Address{Kind: plan.Rule}, rule: model.RuleKey{Port: 80, Of: finding.Origin{Field: content}}, namespace: namespace, content: content}
	return k, plan.Step{ID: plan.StepID("create " + content), Address: k.address, Verb: plan.Create, Do: plan.CreateRule{}}
}

// run simulates one run whose plan has these steps, and returns the contents of the steps that it called.
func (c *stepCaller) run(steps ...func() (stepKey, plan.Step)) []string {
	c.calls = nil
	c.refusalMemory.beginRun(c.now)
	for _, make := range steps {
		k, s := make()
		if _, put := c.refusalMemory.lastFailure(k, s, false, c.now); put {
			continue
		}
		c.calls = append(c.calls, k.content)
		if class, refused := c.refusedContents[k.content]; refused {
			c.refusalMemory.recordRefusal(k, FailedStep{Step: s, Class: class, Err: errors.New("refused"), Called: true}, c.now)
		} else {
			c.refusalMemory.recordSuccess(k, c.now)
		}
	}
	c.refusalMemory.endRun(c.edited, c.now)
	return c.calls
}

func stepFunc(f func(namespace, content string) (stepKey, plan.Step), namespace, content string) func() (stepKey, plan.Step) {
	return func() (stepKey, plan.Step) { return f(namespace, content) }
}

func (c *stepCaller) checkCalls(what string, got []string, want ...string) {
	c.t.Helper()
	if !slices.Equal(got, want) {
		c.t.Errorf("%s: called %q, want %q", what, got, want)
	}
}

// TestRefusedStepsBackOff checks that each class of refusal has a back-off that doubles up to a maximum.
func TestRefusedStepsBackOff(t *testing.T) {
	for class, want := range map[failure.Class][3]time.Duration{ // after one, two and thirty refusals in a row
		failure.Invalid:  {5 * time.Second, 10 * time.Second, 15 * time.Minute},
		failure.Denied:   {5 * time.Second, 10 * time.Second, 15 * time.Minute},
		failure.Quota:    {5 * time.Second, 10 * time.Second, 15 * time.Minute},
		failure.InUse:    {2 * time.Second, 4 * time.Second, 5 * time.Minute},
		failure.NotReady: {2 * time.Second, 4 * time.Second, 5 * time.Minute},
		failure.Unknown:  {time.Second, 2 * time.Second, 5 * time.Minute},
		failure.Conflict: {time.Minute, 2 * time.Minute, 15 * time.Minute},
	} {
		f := FailedStep{Class: class}
		if got := [3]time.Duration{backOff(f, 1), backOff(f, 2), backOff(f, 30)}; got != want {
			t.Errorf("%v: %v, want %v", class, got, want)
		}
	}
	inKubernetes := FailedStep{Class: failure.Unknown, Step: plan.Step{Do: plan.ClaimFinalizer{}}}
	if got := backOff(inKubernetes, 30); got != time.Minute {
		t.Errorf("in Kubernetes: %s", got)
	}
}

func TestAStepWithNewContentIsCalledAtOnce(t *testing.T) {
	c := newStepCaller(t)
	c.refusedContents["bad"], c.edited = failure.Invalid, true
	c.checkCalls("first", c.run(stepFunc(deletionStep, "shop", "bad")), "bad")
	c.checkCalls("in its back-off", c.run(stepFunc(deletionStep, "shop", "bad")))
	c.checkCalls("corrected", c.run(stepFunc(deletionStep, "shop", "good")), "good")
	c.now = c.now.Add(durations.FirstBackOff)
	c.checkCalls("wrong again", c.run(stepFunc(deletionStep, "shop", "bad")), "bad")
}

// TestRefusalsOfUnplannedStepsAreForgotten checks that refusals of steps that later plans do not contain are forgotten, so
// that memory stays bounded.
func TestRefusalsOfUnplannedStepsAreForgotten(t *testing.T) {
	c := newStepCaller(t)
	c.refusedContents["bad"] = failure.NotReady // this class belongs to no scope
	forgotten := func(what string, want bool) {
		t.Helper()
		if c.refusalMemory.isEmpty() != want {
			t.Errorf("%s: %d steps and %d scopes are remembered", what, len(c.refusalMemory.steps), len(c.refusalMemory.scopes))
		}
	}
	c.run(stepFunc(deletionStep, "shop", "bad"))
	c.now = c.now.Add(durations.RecheckInterval + durations.SettleWindow - 1)
	c.run()
	forgotten("the desired state is the same", false)
	c.now = c.now.Add(1)
	c.run()
	forgotten("the time to come back is over", true)
	c.run(stepFunc(deletionStep, "shop", "bad"))
	c.edited = true
	c.run()
	forgotten("the desired state is edited", true)
}

// TestRefusedStepsOfEveryOtherPlanBackOff checks that a refused step is called with back-off, even if only every other plan
// of the same desired state contains it.
func TestRefusedStepsOfEveryOtherPlanBackOff(t *testing.T) {
	for _, class := range []failure.Class{failure.Invalid, failure.Denied, failure.Quota, failure.InUse, failure.NotReady, failure.Unknown, failure.Conflict} {
		called := map[int]int{}
		for _, every := range []int{1, 2} {
			c := newStepCaller(t)
			c.refusedContents["bad"] = class
			for n := range 3600 {
				if n%every == 0 {
					called[every] += len(c.run(stepFunc(deletionStep, "shop", "bad")))
				} else {
					c.run()
				}
				c.now = c.now.Add(time.Second)
			}
		}
		if called[1] < 4 || called[2] < 4 || called[1] > 25 || called[2] > called[1] {
			t.Errorf("%v: called %d times in an hour, in every other plan %d times", class, called[1], called[2])
		}
	}
}

// TestADeniedCallDelaysAllOfItsNamespace checks that a call that AWS denies because of a missing permission delays all calls
// of the same kind in the same namespace, except for a few new ones. After the first successful call, all of them may be
// called again.
func TestADeniedCallDelaysAllOfItsNamespace(t *testing.T) {
	c := newStepCaller(t)
	var all []func() (stepKey, plan.Step)
	for i := range 10 {
		name := fmt.Sprint("r", i)
		c.refusedContents[name] = failure.Denied
		all = append(all, stepFunc(deletionStep, "shop", name))
	}
	c.checkCalls("denied", c.run(all...), "r0")
	c.checkCalls("in the back-off", c.run(all...))
	c.checkCalls("of another namespace", c.run(append(all, stepFunc(deletionStep, "bank", "other"))...), "other")
	late := append(slices.Clone(all), stepFunc(deletionStep, "shop", "corrected"))
	c.checkCalls("new after the refusal", c.run(late...), "corrected")
	c.checkCalls("the scope is open again", c.run(all...), "r1")
	clear(c.refusedContents)
	c.now = c.now.Add(time.Hour)
	if got := c.run(all...); len(got) != 8 {
		t.Errorf("with the permission, those that were not called yet are first; called %q", got)
	}
	c.now = c.now.Add(time.Hour)
	c.checkCalls("then the others", c.run(all[0], all[1]), "r0", "r1")
}

// TestANamespaceHasABudgetOfRefusedValues checks that an invalid value of one step does not delay other steps, but that each
// namespace has a limited number of calls with refused values.
func TestANamespaceHasABudgetOfRefusedValues(t *testing.T) {
	c := newStepCaller(t)
	var all []func() (stepKey, plan.Step)
	for i := range 3 * refusedValuesBudget {
		name := fmt.Sprint("v", i)
		c.refusedContents[name] = failure.Invalid
		all = append(all, stepFunc(deletionStep, "evil", name))
	}
	if got := len(c.run(all...)); got != refusedValuesBudget {
		t.Errorf("%d refused calls at once", got)
	}
	c.checkCalls("of another namespace", c.run(append(all, stepFunc(deletionStep, "shop", "good"))...), "good")
	c.now = c.now.Add(5 * durations.ShortWait)
	if got := len(c.run(all...)); got > 5 {
		t.Errorf("%d refused calls after the time of 5", got)
	}
}

// TestSkippedStepsReportTheirOwnRefusal checks which error is reported for a step that is not called because its namespace
// has too many refused values. If AWS refused the step before, the error of that refusal is reported. If the step was never
// called, it is reported as skipped.
func TestSkippedStepsReportTheirOwnRefusal(t *testing.T) {
	c := newStepCaller(t)
	steps := map[string]func() (stepKey, plan.Step){}
	begin := func() { c.refusalMemory.beginRun(c.now) }
	begin()
	for i := range refusedValuesBudget {
		name := fmt.Sprint("v", i)
		steps[name] = stepFunc(deletionStep, "shop", name)
		k, s := steps[name]()
		c.refusalMemory.recordRefusal(k, FailedStep{Step: s, Class: failure.Invalid, Err: errors.New("refused " + name), Called: true}, c.now)
	}
	c.refusalMemory.endRun(false, c.now)
	c.now = c.now.Add(durations.FirstBackOff)
	begin()
	for name, step := range steps {
		k, s := step()
		f, put := c.refusalMemory.lastFailure(k, s, false, c.now)
		if !put || f.Skipped || f.Err.Error() != "refused "+name || f.Step.ID != s.ID || f.Wait <= 0 {
			t.Errorf("%s: skipped %t, %+v", name, put, f)
		}
	}
	k, s := deletionStep("shop", "other")
	if f, put := c.refusalMemory.lastFailure(k, s, false, c.now); !put || !f.Skipped {
		t.Errorf("a step that was not called: skipped %t, %+v", put, f)
	}
}

// TestFreedQuotaGoesToTheFirstStepOfThePlan checks that all steps that are refused because of the same quota share one
// back-off. The order of the plan decides which step uses freed quota.
func TestFreedQuotaGoesToTheFirstStepOfThePlan(t *testing.T) {
	c := newStepCaller(t)
	c.refusedContents["a"], c.refusedContents["b"] = failure.Quota, failure.Quota
	c.run(stepFunc(creationStep, "shop", "a"))
	for range 6 { // without a shared back-off, "a" would now have a longer back-off than "b"
		c.now = c.now.Add(durations.LongestBackOff)
		c.run(stepFunc(creationStep, "shop", "a"), stepFunc(creationStep, "evil", "b"))
	}
	delete(c.refusedContents, "a")
	c.checkCalls("a place is freed", c.run(stepFunc(deletionStep, "bank", "gone"), stepFunc(creationStep, "shop", "a"), stepFunc(creationStep, "evil", "b"))[:2], "gone", "a")
}

// TestStepsAtAQuotaAreRetriedAfterADeletion checks that steps that were refused because of a quota are called again after a
// deletion has freed quota. If AWS then refuses one of these steps again, all of them wait for their back-off.
func TestStepsAtAQuotaAreRetriedAfterADeletion(t *testing.T) {
	c := newStepCaller(t)
	c.refusedContents["a"], c.refusedContents["b"] = failure.Quota, failure.Quota
	a := func() (stepKey, plan.Step) { return creationStep("shop", "a") }
	b := func() (stepKey, plan.Step) { return creationStep("team", "b") }
	c.run(a, b)
	key, step := a()
	held, put := c.refusalMemory.lastFailure(key, step, false, c.now)
	if held.key = key; !put || c.refusalMemory.mayUseFreedQuota(held, c.now) {
		t.Fatalf("held %t, and free before anything is deleted", put)
	}
	gone, _ := deletionStep("team", "c")
	c.refusalMemory.recordSuccess(gone, c.now)
	if !c.refusalMemory.mayUseFreedQuota(held, c.now) {
		t.Error("a deletion frees nothing")
	}
	key, step = b()
	f := c.refusalMemory.recordRefusal(key, FailedStep{Step: step, Class: failure.Quota, Err: errors.New("refused"), Called: true}, c.now)
	if c.refusalMemory.mayUseFreedQuota(held, c.now) {
		t.Error("free although AWS has refused another one since")
	}
	if c.now = c.now.Add(f.Wait); !c.refusalMemory.mayUseFreedQuota(held, c.now) {
		t.Error("never free again")
	}
}

// TestStepsThatRestrictAccessAreNotSkipped checks that a step that restricts access is called even if AWS has refused other
// steps of the same kind.
func TestStepsThatRestrictAccessAreNotSkipped(t *testing.T) {
	c := newStepCaller(t)
	c.refusedContents["other"] = failure.Denied
	c.run(stepFunc(deletionStep, "shop", "other"))
	c.checkCalls("others", c.run(stepFunc(deletionStep, "shop", "other")))
	for i := range newStepsInClosedScope + 2 {
		name := fmt.Sprint("more", i)
		c.refusedContents[name] = failure.Denied
		c.run(stepFunc(deletionStep, "shop", "other"), stepFunc(deletionStep, "shop", name))
	}
	c.checkCalls("a new one", c.run(stepFunc(deletionStep, "shop", "other"), stepFunc(deletionStep, "shop", "new")))
	revoke := func() (stepKey, plan.Step) {
		k, s := deletionStep("shop", "revoked")
		s.IsRevocation = true
		return k, s
	}
	c.checkCalls("revokes", c.run(stepFunc(deletionStep, "shop", "other"), revoke), "revoked")
}

// TestPendingRefusedStepsAreHeldFromTheStart checks that pendingFailures returns the refused steps of a stack until their
// back-off has ended. A run holds these steps in its first plan.
func TestPendingRefusedStepsAreHeldFromTheStart(t *testing.T) {
	rule := model.Rule{Member: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}}
	stack := model.Stack{LoadBalancer: &model.LoadBalancer{Listeners: []model.Listener{{Port: 80, Rules: []model.Rule{rule}}}}}
	k := ruleKeys(rule, 80)[0]
	var m refusals
	now := time.Unix(1000, 0)
	m.recordRefusal(k, FailedStep{Class: failure.Invalid, Err: errors.New("refused"), Called: true}, now)
	if got := m.pendingFailures(stack, now.Add(time.Second)); len(got) != 1 || got[0].Called || got[0].Wait != durations.FirstBackOff-time.Second {
		t.Errorf("%+v", got)
	}
	if got := m.pendingFailures(stack, now.Add(durations.FirstBackOff)); len(got) != 0 {
		t.Errorf("when it is due: %+v", got)
	}
}

// TestARefusedCertificateIsHeldUntilItIsAttached checks that a certificate that AWS refused to attach to a listener is held
// at the start of each run, until a step attaches it.
func TestARefusedCertificateIsHeldUntilItIsAttached(t *testing.T) {
	stack := model.Stack{LoadBalancer: &model.LoadBalancer{}}
	a := plan.Address{Kind: plan.Listener, ID: "HTTPS:443"}
	step := func(what string) plan.Step {
		return plan.Step{ID: plan.StepID(what + " listener/HTTPS:443"), Address: a, Do: plan.AddCertificate{Listener: a, ARN: "b"}}
	}
	now := time.Unix(1000, 0)
	var m refusals
	m.recordRefusal(stepKeyOf(step("certificate"), stack), FailedStep{Step: step("certificate"), Class: failure.Quota, Err: errors.New("refused"), Called: true}, now)
	for run := range 3 {
		now = now.Add(time.Second)
		m.beginRun(now)
		if got := m.pendingFailures(stack, now); len(got) != 1 {
			t.Errorf("run %d: %+v", run, got)
		}
		m.endRun(false, now)
	}
	m.recordSuccess(stepKeyOf(step("succeed"), stack), now)
	if got := m.pendingFailures(stack, now); len(got) != 0 {
		t.Errorf("once it is attached: %+v", got)
	}
}
