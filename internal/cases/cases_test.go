package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/rig"
)

// horizon is how long the controller is left to itself before the world is looked at. It covers
// what is retried until it works, and less than what is only looked at again for safety.
const horizon = 5 * time.Minute

// TestCases runs each case in a world of its own.
func TestCases(t *testing.T) {
	var sum summary
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newWorld(t)
				newLoader(r).apply(t, name)
				failed := r.Settle(horizon)
				sum.judge(t, name, read(t, r), failed)
			})
		})
	}
	t.Log(sum.String())
}

// TestCasesTogether runs all cases in one world, as they were recorded.
func TestCasesTogether(t *testing.T) {
	var sum summary
	synctest.Test(t, func(t *testing.T) {
		r := newWorld(t)
		l := newLoader(r)
		for _, name := range names(t) {
			l.apply(t, name)
		}
		failed := r.Settle(horizon)
		all := read(t, r)
		for _, name := range names(t) {
			sum.judge(t, name, of(all, name), failed)
		}
	})
	t.Log(sum.String())
}

func newWorld(t *testing.T) *rig.Rig {
	t.Helper()
	r := rig.New(t, rig.Options{})
	seedTrustStore(r)
	return r
}

// summary counts how the cases went.
type summary struct{ equal, onPurpose, later, failed int }

func (s summary) String() string {
	return fmt.Sprintf("SUM %d equal, %d differ on purpose, %d out of scope, %d failed", s.equal, s.onPurpose, s.later, s.failed)
}

// judge compares what a case has become with what was recorded.
func (s *summary) judge(t *testing.T, name string, got record, failed map[string]error) {
	t.Helper()
	want := recorded(t, name)
	for _, d := range everywhere {
		d.change(want)
		d.change(got)
	}
	for _, d := range onPurpose[name] {
		before := exact(t, want)
		normalise(want)
		d.change(want)
		if cmp.Equal(before, exact(t, want)) {
			t.Errorf("%s: the difference on purpose changes nothing: %s", name, d.what)
		}
	}
	normalise(want)
	normalise(got)
	diff := cmp.Diff(exact(t, want), exact(t, got))
	switch {
	case later[name] != "":
		s.later++
		t.Logf("CASE %s out of scope (%s)", name, later[name])
		if diff == "" {
			t.Errorf("%s is equal although it is listed as out of scope", name)
		}
	case diff != "":
		s.failed++
		t.Errorf("CASE %s failed (-recorded +got):\n%s", name, diff)
		for _, k := range slices.Sorted(maps.Keys(failed)) {
			if strings.Contains(k, name) {
				t.Logf("%s: %v", k, failed[k])
			}
		}
	case len(onPurpose[name]) > 0:
		s.onPurpose++
		for _, d := range onPurpose[name] {
			t.Logf("CASE %s differs (%s, because %s)", name, d.what, d.why)
		}
	default:
		s.equal++
		t.Logf("CASE %s equal", name)
	}
}

// recorded reads the expectation of a case.
func recorded(t *testing.T, name string) record {
	t.Helper()
	raw, err := testdata.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var out record
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// of takes what belongs to one case out of a record of many.
func of(all record, name string) record {
	out := record{bindings: {}, objects: {}, events: {}}
	for section, items := range all {
		for key, v := range items {
			rest := key
			if section == objects || section == events {
				_, rest, _ = strings.Cut(key, " ")
			}
			if rest, ok := strings.CutPrefix(rest, name); ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "--")) {
				out.put(section, key, exactValue(v))
			}
		}
	}
	return out
}

// exactValue copies a value, so that judging one case does not change another's.
func exactValue(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // values came out of encoding/json
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}
