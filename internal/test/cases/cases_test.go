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

// horizon is how long the controller runs before the state is checked. It is longer than retries need, and shorter
// than the interval of periodic comparisons.
const horizon = 5 * time.Minute

// TestCases checks each case in its own harness.
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

// TestAllCasesInOneCluster checks all cases in one cluster, as they were recorded.
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

// TestStrictGroupConflictStopsTheGroup checks the recorded behaviour, which is an option of this controller: one
// member with a contradicting setting blocks the whole IngressGroup.
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
		// Nothing is created, but only the object at fault gets an event.
		delete(want[events], "Ingress "+name+"/a")
		if found := Diff(Exact(t, want), Exact(t, got)); found != "" {
			t.Errorf("(-recorded +got):\n%s", found)
		}
	})
}

// summary counts the results of the cases.
type summary struct{ equal, onPurpose, failed int }

func (s summary) String() string {
	return fmt.Sprintf("SUM %d equal, %d differ on purpose, %d failed", s.equal, s.onPurpose, s.failed)
}

// compare compares the result of a case with the record.
func (s *summary) compare(t *testing.T, name string, got Record, failed map[string]error) {
	t.Helper()
	want := Recorded(t, name)
	reported := Exact(t, got[events])
	for _, d := range everywhere {
		d.change(want)
	}
	own := onPurpose[name]
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

// of returns the part of a record that belongs to one case.
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

// exactValue copies a value, so that changes for one case do not affect another.
func exactValue(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // values from encoding/json can always be encoded
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

// text returns a value in the format of the recorded files.
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
