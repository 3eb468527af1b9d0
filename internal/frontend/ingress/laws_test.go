package ingress_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/goldentest"
)

// shuffled is a source that answers lists in another order.
type shuffled struct {
	cluster.Source
	r *rand.Rand
}

func (s shuffled) List(q cluster.Query) ([]cluster.Object, error) {
	out, err := s.Source.List(q)
	out = slices.Clone(out)
	s.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, err
}

// eachCase calls f with the objects of every golden case.
func eachCase(t *testing.T, f func(t *testing.T, yaml string)) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range a.Files {
			if file.Name == "cluster.yaml" {
				t.Run(filepath.Base(path), func(t *testing.T) { f(t, string(file.Data)) })
			}
		}
	}
}

func TestTranslationDoesNotDependOnTheOrderOfInputs(t *testing.T) {
	eachCase(t, func(t *testing.T, yaml string) {
		src := load(t, yaml)
		f := ingress.New(ingress.Options{Cluster: "rig", Class: "alb"})
		for _, id := range stacks(t, f, src) {
			want, wantFound := translate(t, f, src, id)
			for seed := range uint64(5) {
				got, gotFound := translate(t, f, shuffled{src, rand.New(rand.NewPCG(seed, 0))}, id)
				if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
					t.Fatalf("stack %s:\n%s", id, diff)
				}
				if diff := cmp.Diff(wantFound, gotFound); diff != "" {
					t.Fatalf("findings of %s:\n%s", id, diff)
				}
			}
		}
	})
}

// What a translation does not read cannot wake it up again: every object of a stack must be among
// the references or lists of its view.
func TestTranslationNeedsOnlyWhatItsViewRemembers(t *testing.T) {
	eachCase(t, func(t *testing.T, yaml string) {
		src := load(t, yaml)
		f := ingress.New(ingress.Options{Cluster: "rig", Class: "alb"})
		for _, id := range stacks(t, f, src) {
			v := cluster.NewView(src)
			want, _ := f.Translate(v, id, nil)
			only := remembered{Source: src, refs: map[cluster.Ref]bool{}, queries: map[cluster.Query]bool{}}
			for _, r := range v.Refs() {
				only.refs[r] = true
			}
			for _, q := range v.Queries() {
				only.queries[q] = true
			}
			got, _ := translate(t, f, only, id)
			if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
				t.Fatalf("stack %s:\n%s", id, diff)
			}
		}
	})
}

// remembered answers only what has been asked before.
type remembered struct {
	cluster.Source
	refs    map[cluster.Ref]bool
	queries map[cluster.Query]bool
}

func (r remembered) Get(ref cluster.Ref) (cluster.Object, error) {
	if !r.refs[ref] {
		return nil, nil
	}
	return r.Source.Get(ref)
}

func (r remembered) List(q cluster.Query) ([]cluster.Object, error) {
	if !r.queries[q] {
		return nil, nil
	}
	return r.Source.List(q)
}
