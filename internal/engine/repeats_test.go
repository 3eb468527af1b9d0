package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// repeatedStack simulates runs of one stack, and has the changes that the runs made.
type repeatedStack struct {
	repeatedChanges
	stack  model.Stack
	now    time.Time
	readAt time.Time // time at which the observed state of the plan was read; zero: now
}

func newRepeatedStack() *repeatedStack {
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	member := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
	return &repeatedStack{stack: model.Stack{ID: id, Members: []model.Member{{Ref: member}}}, now: time.Unix(1000, 0)}
}

func idleTimeoutStep(verb plan.Verb, seconds string) plan.Step {
	return plan.Step{
		ID: "update load-balancer/lb attributes", Verb: verb, Address: plan.Address{Kind: plan.LoadBalancer, ID: "lb"},
		Changes: []plan.Change{{Path: "idle", From: "60", To: seconds}}, Do: plan.SetAddressType{Type: model.AddressType(seconds)},
	}
}

// simulateRun simulates a run whose plan has these steps. It returns how many steps were carried out, and how many were
// reported as repeated.
func (u *repeatedStack) simulateRun(edited bool, steps ...plan.Step) (made, reported int) {
	d := Draft{Plan: plan.Plan{Steps: steps}}
	read := u.readAt
	if read.IsZero() {
		read = u.now
	}
	_, delayed, named := u.repeatedSteps(d, u.stack, read, edited, u.now)
	for _, s := range steps {
		if named[s.ID] {
			reported++
		}
		if !delayed[s.ID] {
			u.recordChange(changeKey(d.Plan, s, u.stack), "", u.now)
			made++
		}
	}
	return made, reported
}

func TestRevertedChangesBackOff(t *testing.T) {
	t.Parallel()
	u := newRepeatedStack()
	var at []time.Duration
	begun := u.now
	for ; u.now.Sub(begun) < 3*time.Hour; u.now = u.now.Add(10 * time.Second) {
		made, reported := u.simulateRun(false, idleTimeoutStep(plan.Update, "77"))
		if made > 0 {
			at = append(at, u.now.Sub(begun))
		}
		if (reported > 0) != (len(at) > changeBackOff.FreeRepetitions+made) {
			t.Fatalf("after %d times: reported %d", len(at)-made, reported)
		}
	}
	want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 2*time.Minute + 20*time.Second, 6*time.Minute + 20*time.Second, 14*time.Minute + 20*time.Second, 29*time.Minute + 20*time.Second, 44*time.Minute + 20*time.Second}
	if !slices.Equal(at[:len(want)], want) {
		t.Errorf("made after %s, want %s", at, want)
	}
	found := u.findings()
	if len(found) != 1 || found[0].Reason != finding.ChangeNotKept || !strings.Contains(found[0].Message, `change applied 3 times but not persisted by AWS: load balancer "lb": idle: desired "77", AWS returns "60"`) {
		t.Errorf("found %v", found)
	}
	if due, next := u.comparisonDue(u.now); due || next <= 0 || next > 15*time.Minute {
		t.Errorf("due %t, or in %s", due, next)
	}
	if due, _ := u.comparisonDue(u.now.Add(16 * time.Minute)); !due {
		t.Error("it is not looked at again")
	}
}

// TestAPersistedChangeEndsItsRepetition checks that a repeated change is forgotten if a later plan does not contain it. This
// does not apply if the plan was made from state that was read within the settle window of the change.
func TestAPersistedChangeEndsItsRepetition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		read   time.Duration // time from the last change to the read
		edited bool
		ends   bool
	}{
		{"what is known of before", 0, false, false},
		{"a listing that may be behind", 30 * time.Second, false, false},
		{"a comparison", time.Minute, false, true},
		{"an edit that does not ask for it", 0, true, true},
	} {
		u := newRepeatedStack()
		for range 4 {
			u.simulateRun(false, idleTimeoutStep(plan.Update, "77"))
		}
		u.readAt = u.now.Add(c.read)
		u.now = u.now.Add(90 * time.Second)
		u.simulateRun(c.edited)
		if found := u.findings(); (len(found) == 0) != c.ends {
			t.Errorf("%s: %v", c.name, found)
		}
		u.readAt = time.Time{}
		if made, _ := u.simulateRun(false, idleTimeoutStep(plan.Update, "77")); (made == 1) != c.ends {
			t.Errorf("%s: made again %d times", c.name, made)
		}
	}
}

// TestOtherChangesAreNotDelayed checks that a change to a different value is made immediately, even if users change the
// value again and again.
func TestOtherChangesAreNotDelayed(t *testing.T) {
	t.Parallel()
	u := newRepeatedStack()
	for range 10 {
		u.simulateRun(false, idleTimeoutStep(plan.Update, "77"))
	}
	if made, _ := u.simulateRun(false, idleTimeoutStep(plan.Update, "78")); made != 1 {
		t.Errorf("%d were made", made)
	}
	u = newRepeatedStack()
	for n := range 50 {
		if made, reported := u.simulateRun(true, idleTimeoutStep(plan.Update, []string{"77", "78"}[n%2])); made != 1 || reported > 0 {
			t.Fatalf("edit %d: %d were made, %d reported", n, made, reported)
		}
		u.now = u.now.Add(time.Second)
	}
}

// TestNoResourceIsCreatedTwiceWithinAMinute checks that a resource is created only once within a minute, even if AWS does
// not show it and each plan creates it again.
func TestNoResourceIsCreatedTwiceWithinAMinute(t *testing.T) {
	t.Parallel()
	u := newRepeatedStack()
	total := 0
	for range 59 {
		made, _ := u.simulateRun(false, idleTimeoutStep(plan.Create, "77"))
		total += made
		u.now = u.now.Add(time.Second)
	}
	if total != 1 {
		t.Errorf("made %d times", total)
	}
}

// TestPreparationsAreDelayedWithTheirSteps checks that a step that only prepares a delayed step is delayed too. A step that
// is also needed by a step that is not delayed is carried out.
func TestPreparationsAreDelayedWithTheirSteps(t *testing.T) {
	t.Parallel()
	p := plan.Plan{
		Joins: map[plan.StepID][]plan.StepID{"both": {"delete b", "open"}},
		Steps: []plan.Step{
			{ID: "open"}, {ID: "delete a"}, {ID: "delete b"}, {ID: "revoke", IsRevocation: true}, {ID: "alone"},
			{ID: "create", After: []plan.StepID{"both", "delete a", "revoke"}}, {ID: "other", After: []plan.StepID{"open"}},
			{ID: "after", After: []plan.StepID{"create"}},
		},
	}
	delayed := addPreparationSteps(p, map[plan.StepID]bool{"create": true})
	reported := addDependentSteps(p, map[plan.StepID]bool{"create": true})
	for _, s := range p.Steps {
		if want := s.ID == "create" || s.ID == "delete a" || s.ID == "delete b"; delayed[s.ID] != want {
			t.Errorf("%s delayed: %t", s.ID, delayed[s.ID])
		}
		if want := s.ID == "create" || s.ID == "after"; reported[s.ID] != want {
			t.Errorf("%s is reported: %t", s.ID, reported[s.ID])
		}
	}
}

// TestAlternatingTrafficIsNoRepetition checks that a rule that forwards to new target groups again and again is not treated
// as a repeated change. The target groups have the same ID, but different ARNs.
func TestAlternatingTrafficIsNoRepetition(t *testing.T) {
	t.Parallel()
	u := newRepeatedStack()
	for n, arn := range []string{"pods", "nodes", "pods again", "nodes again", "pods once more"} {
		for weight := range int32(2) {
			to := model.WeightedTargetGroup{Group: model.TargetGroupRef{ID: "web"}, Weight: &weight}
			s := plan.Step{
				ID: "modify rule/1", Verb: plan.Update, Address: plan.Address{Kind: plan.Rule, ID: "1"}, Rule: model.RuleKey{Port: 80},
				Do: plan.ModifyRule{Actions: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{to}}}},
			}
			p := plan.Plan{Steps: []plan.Step{s}, KnownIDs: plan.KnownIDs{plan.TargetGroupAddress("web"): arn}}
			_, delayed, reported := u.repeatedSteps(Draft{Plan: p}, u.stack, time.Time{}, false, u.now)
			if delayed[s.ID] || reported[s.ID] {
				t.Errorf("move %d to %s, weight %d: delayed %t, reported %t", n, arn, weight, delayed[s.ID], reported[s.ID])
			}
			u.recordChange(changeKey(p, s, u.stack), "", u.now)
			u.now = u.now.Add(time.Second)
		}
	}
}

// TestSettingsOfNewResourcesAreNoRepetition checks that setting an attribute of a new target group is not treated as a
// repetition. The same attribute was set on an earlier target group with the same ID.
func TestSettingsOfNewResourcesAreNoRepetition(t *testing.T) {
	t.Parallel()
	u := newRepeatedStack()
	a := plan.TargetGroupAddress("web")
	for n := range 5 {
		steps := []plan.Step{
			{ID: "create", Verb: plan.Create, Address: a, Do: plan.CreateTargetGroup{Group: model.TargetGroup{ID: "web", Port: int32(n)}}},
			{ID: "attributes", Verb: plan.Update, Address: a, Do: plan.SetAttributes{Resource: a, Values: map[string]string{"a": "b"}}},
		}
		if made, reported := u.simulateRun(false, steps...); made != 2 || reported > 0 {
			t.Errorf("target group %d: %d steps were made, %d reported", n, made, reported)
		}
		u.now = u.now.Add(time.Second)
	}
}
