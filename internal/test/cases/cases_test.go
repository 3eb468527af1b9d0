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

// controllerRunTime is how long the controller runs before the state is checked. It is longer than retries need, and shorter
// than the interval of periodic comparisons.
const controllerRunTime = 5 * time.Minute

// TestCases compares the result of each case with its recording. Each case has its own harness.
func TestCases(t *testing.T) {
	t.Parallel()
	var sum summary
	for _, name := range Names(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewHarness(t, harness.Options{})
				NewLoader(t, r).Apply(t, name)
				failed := r.Settle(controllerRunTime)
				sum.compare(t, name, ReadRecord(t, r), failed)
			})
		})
	}
	t.Log(sum.String())
}

// TestAllCasesInOneCluster applies all cases to one cluster, as when they were recorded, and compares the results.
func TestAllCasesInOneCluster(t *testing.T) {
	t.Parallel()
	var sum summary
	synctest.Test(t, func(t *testing.T) {
		r := NewHarness(t, harness.Options{})
		NewLoader(t, r).ApplyAll(t, Names(t))
		failed := r.Settle(controllerRunTime)
		all := ReadRecord(t, r)
		for _, name := range Names(t) {
			sum.compare(t, name, recordOf(all, name), failed)
		}
	})
	t.Log(sum.String())
}

// TestStrictGroupConflictStopsTheGroup checks the option StrictGroups, with which this controller behaves as the recorded
// one: one member with a contradicting setting blocks the whole IngressGroup.
func TestStrictGroupConflictStopsTheGroup(t *testing.T) {
	t.Parallel()
	const name = "ingress-group-conflict-scheme"
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, harness.Options{Ingress: func(o *ingress.Options) { o.StrictGroups = true }})
		NewLoader(t, r).Apply(t, name)
		r.Settle(controllerRunTime)
		want, got := LoadRecord(t, name), ReadRecord(t, r)
		for _, d := range commonDifferences {
			d.change(want)
		}
		Normalise(want)
		Normalise(got)
		// Nothing is created, but only the object at fault gets an event.
		delete(want[eventsSection], "Ingress "+name+"/a")
		if found := Diff(DecodedJSON(t, want), DecodedJSON(t, got)); found != "" {
			t.Errorf("(-recorded +got):\n%s", found)
		}
	})
}

// summary counts the results of the cases.
type summary struct{ equal, intended, failed int }

func (s summary) String() string {
	return fmt.Sprintf("SUM %d equal, %d differ on purpose, %d failed", s.equal, s.intended, s.failed)
}

// compare compares the result of a case with its recording, except for intended differences. failed has the errors of the
// last runs, for the log.
func (s *summary) compare(t *testing.T, name string, got Record, failed map[string]error) {
	t.Helper()
	want := LoadRecord(t, name)
	reported := DecodedJSON(t, got[eventsSection])
	for _, d := range commonDifferences {
		d.change(want)
	}
	own := intendedDifferences[name]
	Normalise(want)
	Normalise(got)
	if len(own) > 0 && Diff(DecodedJSON(t, want), DecodedJSON(t, got)) == "" {
		s.failed++
		t.Errorf("CASE %s is equal to what was recorded: remove it from the table of differences", name)
		return
	}
	for _, d := range own {
		before := DecodedJSON(t, want)
		if d.change(want); cmp.Equal(before, DecodedJSON(t, want)) {
			t.Errorf("%s: the difference changes nothing: %s", name, d.description)
		}
	}
	Normalise(want)
	if file := name + ".fulcrum.json"; *update && fileExists(file) {
		if err := os.WriteFile(filepath.Join("testdata", file), []byte(recordedText(DecodedJSON(t, got))+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found := Diff(DecodedJSON(t, want), DecodedJSON(t, got))
	switch {
	case found != "":
		s.failed++
		t.Errorf("CASE %s failed (-recorded +got):\n%s", name, found)
		t.Logf("events: %s", recordedText(reported))
		for _, k := range slices.Sorted(maps.Keys(failed)) {
			if strings.Contains(k, name) {
				t.Logf("%s: %v", k, failed[k])
			}
		}
	case len(own) > 0:
		s.intended++
		for _, d := range own {
			t.Logf("CASE %s differs (%s: %s)", name, d.description, d.reason)
		}
	default:
		s.equal++
		t.Logf("CASE %s equal", name)
	}
}

// recordOf returns the part of a record that belongs to one case.
func recordOf(all Record, name string) Record {
	out := Record{bindingsSection: {}, objectsSection: {}, eventsSection: {}}
	for section, items := range all {
		for key, v := range items {
			rest := key
			if section == objectsSection || section == eventsSection {
				_, rest, _ = strings.Cut(key, " ")
			}
			end, ok := strings.CutPrefix(rest, name)
			if ok && (strings.HasPrefix(end, "/") || strings.HasPrefix(end, "--")) || rest == "/"+name { // the latter has no namespace
				out.put(section, key, copyValue(v))
			}
		}
	}
	return out
}

// copyValue copies a value, so that changes for one case do not affect another.
func copyValue(v any) any {
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

// recordedText returns a value in the format of the recorded files.
func recordedText(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func fileExists(file string) bool {
	_, err := fs.Stat(testdata.Files, file)
	return err == nil
}
