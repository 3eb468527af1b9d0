package laws

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// groups is how many random groups are tried.
const groups = 10000

// each calls law for every random group, in a few lots side by side.
func each(t *testing.T, law func(t *testing.T, seed uint64)) {
	t.Helper()
	n := uint64(groups)
	if testing.Short() {
		n = 400
	}
	const lots = 4
	for lot := range uint64(lots) {
		t.Run(fmt.Sprint(lot), func(t *testing.T) {
			t.Parallel()
			for seed := lot; seed < n; seed += lots {
				law(t, seed)
				if t.Failed() {
					return
				}
			}
		})
	}
}

func frontend() *ingress.Frontend { return ingress.New(ingress.Options{Cluster: "rig", Class: "alb"}) }

func translate(t *testing.T, src cluster.Source, id model.StackID) (model.Stack, finding.List) {
	t.Helper()
	v := cluster.NewView(src)
	s, found := frontend().Translate(v, id, nil)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return s, found
}

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

func TestTranslationDoesNotDependOnTheOrderOfInputs(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomShape(r)
		objs := s.objects(r)
		want, wantFound := translate(t, store(t, objs), s.id())
		r.Shuffle(len(objs), func(i, j int) { objs[i], objs[j] = objs[j], objs[i] })
		got, gotFound := translate(t, shuffled{store(t, objs), r}, s.id())
		if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
			t.Errorf("seed %d: the stack differs:\n%s\n%s", seed, diff, describe(objs))
		}
		if diff := cmp.Diff(wantFound, gotFound); diff != "" {
			t.Errorf("seed %d: the findings differ:\n%s\n%s", seed, diff, describe(objs))
		}
	})
}

// One member's fault is its own: every finding names an object of the group, a field of it and a
// way out.
func TestFindingsNameWhatIsToBeChanged(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := randomShape(r)
		objs := s.objects(r)
		src := store(t, objs)
		_, found := translate(t, src, s.id())
		for _, f := range found {
			obj, err := src.Get(cluster.Ref{Kind: cluster.Kind(f.Object.Kind), Namespace: f.Object.Namespace, Name: f.Object.Name})
			if err != nil || obj == nil || f.Field == "" || f.Reason == "" || f.Message == "" || f.Fix == "" {
				t.Errorf("seed %d: %s\n%s", seed, f, describe(objs))
			}
		}
	})
}

// From nothing to a first group and on to another: a plan after its own steps is empty, and at each
// step in between every host and path of the first group gets its old or its new answer. What was
// not there before may be an error.
func TestEveryStepIsSafeAndTheLastOneIsTheLast(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := randomShape(r)
		first := s.objects(r)
		want, _ := translate(t, store(t, first), s.id())
		have, _ := converge(t, want, emptyWorld(), "")
		valid(t, seed, want, have)
		second := s.objects(r)
		want, _ = translate(t, store(t, second), s.id())
		sick := pick(r, []string{"", "/web", "api", "a-web"})
		end, moments := converge(t, want, have, sick)
		valid(t, seed, want, end)
		if p := settled(t, want, &end, healthy); !atRest(p) {
			t.Errorf("seed %d: there is more to do:\n%s", seed, p.Text())
		}
		targets := servedBy(have)
		for _, m := range moments {
			for arn, service := range servedBy(m.have) {
				if before, known := targets[arn]; known && before != service {
					t.Errorf("seed %d: the targets of %s are those of %s and become those of %s", seed, arn, before, service)
				}
				targets[arn] = service
			}
		}
		was, will := outcomes(have), outcomes(end)
		for _, m := range moments {
			now := outcomes(m.have)
			for i, is := range now {
				if is == was[i] || is == will[i] {
					continue
				}
				// Nobody asks a listener or a load balancer that is being made.
				if was[i] == nothing && (have.Live(model.LoadBalancerID) == nil || strings.Contains(is, "FixedResponse")) {
					continue
				}
				t.Errorf("seed %d: %v is answered by\n  %q, before by\n  %q, at the end by\n  %q\nafter %s of\n%s\nfirst:\n%s\nsecond:\n%s",
					seed, requests[i], is, was[i], will[i], m.step, m.p.Text(), describe(first), describe(second))
				return
			}
		}
	})
}

// servedBy tells whose targets are in each target group.
func servedBy(have observed.Stack) map[string]string {
	out := map[string]string{}
	for _, b := range have.Bindings {
		out[b.ARN] = b.Namespace + "/" + b.Service.Service
	}
	return out
}
