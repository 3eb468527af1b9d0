package enginetest

import (
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// EachCase runs f as a subtest for each golden case testdata/*.txtar in files. src has the objects of its file
// cluster.yaml.
func EachCase(t *testing.T, files fs.FS, f func(t *testing.T, src *cluster.Memory)) {
	t.Helper()
	names, err := fs.Glob(files, "testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			if file.Name != "cluster.yaml" {
				continue
			}
			src, err := cluster.MemoryFromYAML(nil, file.Data)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(path.Base(name), func(t *testing.T) { f(t, src) })
		}
	}
}

// NewShuffledSource returns a source that returns the lists of src in random order. Equal seeds give equal orders.
func NewShuffledSource(src cluster.Source, seed uint64) cluster.Source {
	return shuffledSource{src, rand.New(rand.NewPCG(seed, 0))}
}

type shuffledSource struct {
	cluster.Source
	r *rand.Rand
}

// List implements cluster.Source.
func (s shuffledSource) List(q cluster.Query) ([]cluster.Object, error) {
	out, err := s.Source.List(q)
	out = slices.Clone(out)
	s.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, err
}

// NewViewedSource returns a source that reads from src only the objects and lists that v has recorded. For other objects
// and lists, the source returns nil.
func NewViewedSource(src cluster.Source, v *cluster.View) cluster.Source {
	only := viewedSource{Source: src, refs: map[cluster.Ref]bool{}, queries: map[cluster.Query]bool{}}
	for _, r := range v.Refs() {
		only.refs[r] = true
	}
	for _, q := range v.Queries() {
		only.queries[q] = true
	}
	return only
}

type viewedSource struct {
	cluster.Source
	refs    map[cluster.Ref]bool
	queries map[cluster.Query]bool
}

// Get implements cluster.Source.
func (r viewedSource) Get(ref cluster.Ref) (cluster.Object, error) {
	if !r.refs[ref] {
		return nil, nil
	}
	return r.Source.Get(ref)
}

// List implements cluster.Source.
func (r viewedSource) List(q cluster.Query) ([]cluster.Object, error) {
	if !r.queries[q] {
		return nil, nil
	}
	return r.Source.List(q)
}
