package cases

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/test/cases/testdata"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

var update = flag.Bool("update", false, "rewrite the expectations that are Fulcrum's own (testdata/*.fulcrum.json)")

// horizon is how long the controller is left to itself before the world is looked at. It covers
// what is retried until it works, and less than what is only looked at again for safety.
const horizon = 5 * time.Minute

// TestCases runs each case in a world of its own.
func TestCases(t *testing.T) {
	t.Parallel()
	var sum summary
	for _, name := range Names(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewWorld(t, harness.Options{})
				NewLoader(t, r).Apply(t, name)
				failed := r.Settle(horizon)
				sum.compare(t, name, Read(t, r), failed)
			})
		})
	}
	t.Log(sum.String())
}

// TestAllCasesInOneCluster runs all cases in one world, as they were recorded.
func TestAllCasesInOneCluster(t *testing.T) {
	t.Parallel()
	var sum summary
	synctest.Test(t, func(t *testing.T) {
		r := NewWorld(t, harness.Options{})
		l := NewLoader(t, r)
		for _, name := range Names(t) {
			l.Apply(t, name)
		}
		failed := r.Settle(horizon)
		all := Read(t, r)
		for _, name := range Names(t) {
			sum.compare(t, name, of(all, name), failed)
		}
	})
	t.Log(sum.String())
}

// TestStrictGroupConflictStopsTheGroup shows what was recorded where it is an option: one member that disagrees stops
// its whole group.
func TestStrictGroupConflictStopsTheGroup(t *testing.T) {
	t.Parallel()
	const name = "ingress-group-conflict-scheme"
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, harness.Options{Ingress: func(o *ingress.Options) { o.StrictGroups = true }})
		NewLoader(t, r).Apply(t, name)
		r.Settle(horizon)
		want, got := Recorded(t, name), Read(t, r)
		for _, d := range everywhere {
			d.change(want)
		}
		Normalise(want)
		Normalise(got)
		// Nothing is built, but only the object at fault gets an event.
		delete(want[events], "Ingress "+name+"/a")
		if found := Diff(Exact(t, want), Exact(t, got)); found != "" {
			t.Errorf("(-recorded +got):\n%s", found)
		}
	})
}

// summary counts how the cases went.
type summary struct{ equal, onPurpose, later, failed int }

func (s summary) String() string {
	return fmt.Sprintf("SUM %d equal, %d differ on purpose, %d out of scope, %d failed", s.equal, s.onPurpose, s.later, s.failed)
}

// compare compares what a case has become with what was recorded.
func (s *summary) compare(t *testing.T, name string, got Record, failed map[string]error) {
	t.Helper()
	want := Recorded(t, name)
	reported := Exact(t, got[events])
	for _, d := range everywhere {
		d.change(want)
	}
	own := onPurpose[name]
	if d, ok := later[name]; ok {
		own = []difference{d}
	}
	Normalise(want)
	Normalise(got)
	if len(own) > 0 && Diff(Exact(t, want), Exact(t, got)) == "" {
		s.failed++
		t.Errorf("CASE %s is equal to what was recorded: remove it from the table of differences", name)
		return
	}
	for _, d := range own {
		before := Exact(t, want)
		if d.change(want); cmp.Equal(before, Exact(t, want)) {
			t.Errorf("%s: the difference changes nothing: %s", name, d.what)
		}
	}
	Normalise(want)
	if file := name + ".fulcrum.json"; *update && exists(file) {
		if err := os.WriteFile(filepath.Join("testdata", file), []byte(text(Exact(t, got))+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found := Diff(Exact(t, want), Exact(t, got))
	_, isLater := later[name]
	switch {
	case found != "":
		s.failed++
		t.Errorf("CASE %s failed (-recorded +got):\n%s", name, found)
		t.Logf("events: %s", text(reported))
		for _, k := range slices.Sorted(maps.Keys(failed)) {
			if strings.Contains(k, name) {
				t.Logf("%s: %v", k, failed[k])
			}
		}
	case isLater:
		s.later++
		t.Logf("CASE %s out of scope, equal otherwise (%s: %s)", name, later[name].what, later[name].why)
	case len(own) > 0:
		s.onPurpose++
		for _, d := range own {
			t.Logf("CASE %s differs (%s: %s)", name, d.what, d.why)
		}
	default:
		s.equal++
		t.Logf("CASE %s equal", name)
	}
}

// of takes what belongs to one case out of a record of many.
func of(all Record, name string) Record {
	out := Record{bindings: {}, objects: {}, events: {}}
	for section, items := range all {
		for key, v := range items {
			rest := key
			if section == objects || section == events {
				_, rest, _ = strings.Cut(key, " ")
			}
			end, ok := strings.CutPrefix(rest, name)
			if ok && (strings.HasPrefix(end, "/") || strings.HasPrefix(end, "--")) || rest == "/"+name { // the latter has no namespace
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

// text writes a value as the recorded files are written.
func text(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func exists(file string) bool {
	_, err := fs.Stat(testdata.Files, file)
	return err == nil
}
