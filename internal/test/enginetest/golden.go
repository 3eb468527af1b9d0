package enginetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// CaseOptions returns the options of a case: a copy of usual with the values in the file options.json of the case.
func CaseOptions[T any](t testing.TB, c goldentest.Case, usual T) T {
	t.Helper()
	if raw := c.Text("options.json"); raw != "" {
		d := json.NewDecoder(strings.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&usual); err != nil {
			t.Fatalf("options.json: %v", err)
		}
	}
	return usual
}

// LoadObjects reads the objects of a case.
func LoadObjects(t testing.TB, yaml string) *cluster.Memory {
	t.Helper()
	m, err := cluster.MemoryFromYAML(nil, []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Translate translates a stack as a controller with informers does. It fails the test if there is a finding about a
// missing reference, but the translation does not confirm the object of the finding with cluster.Confirmer. It also fails
// the test if the translation confirms objects without such a finding.
func Translate(t testing.TB, f engine.Frontend, src cluster.Source, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	t.Helper()
	v := cluster.NewView(&cluster.ReducedSource{Source: src})
	stack, found := f.Translate(v, id, live)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	confirmed := confirmationRecorder{&cluster.ReducedSource{Source: src}, map[string]bool{}}
	f.Translate(cluster.NewView(confirmed), id, live)
	none := true
	for _, x := range found {
		route := strings.HasSuffix(string(x.Object.Kind), "Route")
		if x.Reason == finding.BackendNotFound && strings.Contains(x.Message, " does not exist") ||
			route && (x.Reason == finding.RouteFiltersIncompatible && strings.Contains(x.Message, " does not exist") || x.Reason == finding.BackendPortNotFound || x.Reason == finding.ReferenceNotPermitted && strings.Contains(x.Message, " permits ")) {
			if none = false; !confirmed.objectsToConfirm[x.Object.String()] {
				t.Errorf("the finding on %s has effects, but the object was not confirmed: %s", x.Object, x)
			}
		}
	}
	if none && len(confirmed.objectsToConfirm) > 0 {
		t.Errorf("objects were confirmed unnecessarily: %v", confirmed.objectsToConfirm)
	}
	return stack, found
}

// confirmationRecorder is a source that records the objects that a translation confirms.
type confirmationRecorder struct {
	cluster.Source
	objectsToConfirm map[string]bool
}

// Confirm implements cluster.Confirmer.
func (c confirmationRecorder) Confirm(obj cluster.Object) error {
	c.objectsToConfirm[cluster.RefOf(obj).String()] = true
	return nil
}

// DefaultReach returns the reach that docs/findings.md shows for a reason, or finding.BlocksNothing for an unknown reason.
func DefaultReach(r finding.Reason) finding.Reach {
	for _, e := range finding.Reasons {
		if e.Reason == r {
			return e.UsualReach
		}
	}
	return finding.BlocksNothing
}
