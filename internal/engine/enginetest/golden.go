package enginetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Options are those of a case: its options.json laid over the usual ones.
func Options[T any](t testing.TB, c goldentest.Case, usual T) T {
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

// Load reads the objects of a case.
func Load(t testing.TB, yaml string) *cluster.Memory {
	t.Helper()
	m, err := cluster.FromYAML(nil, []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Translate translates a stack as a controller does that reads its objects from informers. That a Service is missing must
// not be believed of an object that has changed since.
func Translate(t testing.TB, f engine.Frontend, src cluster.Source, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	t.Helper()
	v := cluster.NewView(&cluster.Reduced{Source: src})
	stack, found := f.Translate(v, id, live)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	missing := slices.ContainsFunc(found, func(x finding.Finding) bool {
		return x.Reason == finding.BackendNotFound && strings.Contains(x.Message, "Service ")
	})
	v = cluster.NewView(behind{&cluster.Reduced{Source: src}})
	f.Translate(v, id, live)
	var stale cluster.Stale
	if errors.As(v.Err(), &stale) != missing {
		t.Errorf("a Service is missing: %v; the object that names it may have changed: %v", missing, v.Err())
	}
	return stack, found
}

// behind is a source that will soon have another state of everything.
type behind struct{ cluster.Source }

func (behind) Confirm(obj cluster.Object) error { return cluster.Stale{Ref: cluster.RefOf(obj)} }

// UsualReach is what the page of findings says of a reason.
func UsualReach(r finding.Reason) finding.Reach {
	for _, e := range finding.Reasons {
		if e.Reason == r {
			return e.Reaches
		}
	}
	return finding.BlocksNothing
}
