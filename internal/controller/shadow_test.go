package controller

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestShadowReportIsBounded checks that the shadow report has a bounded size for any number of planned steps, counts all
// steps, and replaces the previous report completely.
func TestShadowReportIsBounded(t *testing.T) {
	s := &Shadow{items: map[shadowKey]ShadowItem{}}
	item := ShadowItem{}
	for j := range 3 * maxShadowSteps {
		step := ShadowStep{ID: fmt.Sprint(j), Kind: "rule", Impact: plan.NoImpact, Why: strings.Repeat("because ", 1000)}
		for range 20 {
			step.Changes = append(step.Changes, strings.Repeat("x", 10_000))
		}
		item.addStep(step)
	}
	for i := range 2 * maxShadowItems {
		s.recordPlan(t.Context(), shadowKey{"Ingress", fmt.Sprintf("shop/%04d", i)}, item)
	}
	s.recordPlan(t.Context(), shadowKey{"Service", "shop/done"}, ShadowItem{})
	dir := t.TempDir()
	file := filepath.Join(dir, "report.json")
	if err := os.WriteFile(file, []byte("an old report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Report(time.Unix(0, 0)).write(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r ShadowReport
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if most := maxShadowItems * maxShadowSteps * (maxShadowChanges + 2) * maxShadowText; len(data) > most+most/2 {
		t.Errorf("%d bytes", len(data))
	}
	if len(r.Changes) != maxShadowItems || r.Omitted != maxShadowItems || r.Changes[0].Count != 3*maxShadowSteps || len(r.Changes[0].Steps) != maxShadowSteps {
		t.Errorf("%d changes, %d omitted, %d steps", len(r.Changes), r.Omitted, len(r.Changes[0].Steps))
	}
	if len(r.Steps) != 1 || r.Steps[0].Count != 2*maxShadowItems*3*maxShadowSteps || len(r.Items) != 2 {
		t.Errorf("%+v %+v", r.Items, r.Steps)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestPlansThatDifferAfterTheReportedStepsAreDifferent checks that a plan replaces an earlier one whose reported steps are
// equal, if the kinds of the other steps differ.
func TestPlansThatDifferAfterTheReportedStepsAreDifferent(t *testing.T) {
	newItem := func(lastKind string) (i ShadowItem) {
		for range maxShadowSteps {
			i.addStep(ShadowStep{ID: "a", Kind: "rule"})
		}
		i.addStep(ShadowStep{ID: "a", Kind: lastKind})
		return i
	}
	if !newItem("rule").equal(newItem("rule")) || newItem("rule").equal(newItem("listener")) {
		t.Error("want equality only of plans with the same kinds of steps")
	}
}
