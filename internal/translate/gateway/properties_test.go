package gateway_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// eachStack calls property for each stack of all golden files.
func eachStack(t *testing.T, property func(t *testing.T, f *gateway.Frontend, src *cluster.Memory, id model.StackID)) {
	enginetest.EachCase(t, testdata, func(t *testing.T, src *cluster.Memory) {
		for _, kind := range []model.Kind{model.ALBGateway, model.NLBGateway} {
			f := gateway.New(kind, gateway.Options{Options: assemble.Options{Cluster: "rig"}, ListenerSets: true})
			ids := enginetest.StacksOfKind(t, f, src, cluster.KindGateway)
			for _, id := range slices.DeleteFunc(ids, func(id model.StackID) bool { return id.Kind != kind }) {
				property(t, f, src, id)
			}
		}
	})
}

func TestTranslationDoesNotDependOnTheOrderOfInputs(t *testing.T) {
	eachStack(t, func(t *testing.T, f *gateway.Frontend, src *cluster.Memory, id model.StackID) {
		want, wantFound := enginetest.Translate(t, f, src, id, nil)
		for seed := range uint64(5) {
			v := cluster.NewView(&cluster.ReducedSource{Source: enginetest.NewShuffledSource(src, seed)})
			got, found := f.Translate(v, id, nil)
			if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
				t.Fatalf("stack %s:\n%s", id, diff)
			}
			if diff := cmp.Diff(wantFound, found); diff != "" {
				t.Fatalf("findings of %s:\n%s", id, diff)
			}
		}
	})
}

// TestTranslationDependsOnlyOnRecordedReads checks that the translation depends only on objects that the view has recorded
// as read, such as the Service of a backend, because changes of other objects start no new translation.
func TestTranslationDependsOnlyOnRecordedReads(t *testing.T) {
	eachStack(t, func(t *testing.T, f *gateway.Frontend, src *cluster.Memory, id model.StackID) {
		reduced := &cluster.ReducedSource{Source: src}
		v := cluster.NewView(reduced)
		want, _ := f.Translate(v, id, nil)
		got, _ := f.Translate(cluster.NewView(enginetest.NewViewedSource(reduced, v)), id, nil)
		if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
			t.Fatalf("stack %s:\n%s", id, diff)
		}
	})
}
