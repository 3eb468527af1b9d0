package ingress_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

func TestTranslationDoesNotDependOnTheOrderOfInputs(t *testing.T) {
	enginetest.EachCase(t, testdata, func(t *testing.T, src *cluster.Memory) {
		f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
		for _, id := range stacksOf(t, f, src) {
			want, wantFound := enginetest.Translate(t, f, src, id, nil)
			for seed := range uint64(5) {
				got, gotFound := enginetest.Translate(t, f, enginetest.NewShuffledSource(src, seed), id, nil)
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

// TestTranslationDependsOnlyOnRecordedReads checks that the translation depends only on objects that the view has recorded
// as read, as references or lists, because changes of other objects start no new translation.
func TestTranslationDependsOnlyOnRecordedReads(t *testing.T) {
	enginetest.EachCase(t, testdata, func(t *testing.T, src *cluster.Memory) {
		f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
		for _, id := range stacksOf(t, f, src) {
			v := cluster.NewView(src)
			want, _ := f.Translate(v, id, nil)
			got, _ := enginetest.Translate(t, f, enginetest.NewViewedSource(src, v), id, nil)
			if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
				t.Fatalf("stack %s:\n%s", id, diff)
			}
		}
	})
}
