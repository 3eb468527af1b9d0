package adversary

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// historyCount is the number of histories from which an ordinary test run selects. "make soak" runs 20,000.
const historyCount = 200

// withoutShrinking is set if a failing history is reported in one line, without a search for a shorter one.
var withoutShrinking = os.Getenv("FULCRUM_ADVERSARY_SURVEY") != ""

// TestHistories runs random histories of the attacker. The victims must be served as without the attacker.
func TestHistories(t *testing.T) {
	t.Parallel()
	if seed, err := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY_SEED"), 10, 64); err == nil {
		runAndShrink(t, seed)
		return
	}
	all := seedsToRun()
	shards := runtime.GOMAXPROCS(0)
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			failed := 0
			for i := shard; i < len(all) && failed < 5; i += shards {
				if !runAndShrink(t, all[i]) {
					failed++
				}
			}
		})
	}
}

// seedsToRun returns the seeds to run: FULCRUM_ADVERSARY seeds from FULCRUM_ADVERSARY_FROM on. By default it selects some of
// the first historyCount seeds whose histories together have all elements; see coveringSeeds.
func seedsToRun() []uint64 {
	n, err := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY"), 10, 64)
	switch {
	case err == nil:
	case seeds.Long():
		n = historyCount
	default:
		return coveringSeeds(historyCount)
	}
	first, _ := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY_FROM"), 10, 64)
	var out []uint64
	for seed := first; seed < first+n; seed++ {
		out = append(out, seed)
	}
	return out
}

// seedsThatFailedOnce are seeds of histories that found faults, as regression tests.
var seedsThatFailedOnce = []uint64{486, 602, 617, 950, 2465, 2627, 2905, 3026, 3067, 3289, 3898, 4091}

// TestHistoriesThatOnceFailed runs the histories of seedsThatFailedOnce.
func TestHistoriesThatOnceFailed(t *testing.T) {
	t.Parallel()
	for _, seed := range seedsThatFailedOnce {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			runAndShrink(t, seed)
		})
	}
}

// runAndShrink runs the history of a seed. If it fails, runAndShrink searches for a shorter history that still fails,
// reports it and returns false. With withoutShrinking it reports the failure and returns true, so that all seeds are run.
func runAndShrink(t *testing.T, seed uint64) bool {
	t.Helper()
	h := historyOf(seed)
	failures := runHistory(t, h)
	if len(failures) == 0 {
		return true
	}
	if withoutShrinking {
		t.Errorf("FULCRUM_ADVERSARY_SEED=%d (%v): %.400s", seed, h.setup, failures[0])
		return true
	}
	h, failures = shrink(t, h, failures)
	t.Errorf("FULCRUM_ADVERSARY_SEED=%d fails with %d moves:\n%s\n\n%v", seed, len(h.moves), strings.Join(failures, "\n"), h)
	return false
}

// shrink removes moves as long as the history fails in the same way: halves first, then smaller parts. It returns the
// shortest history that it found, with its failures.
func shrink(t *testing.T, h history, failures []string) (history, []string) {
	t.Helper()
	const replays = 80
	tried := 0
	for size := max(1, len(h.moves)/2); ; size = max(1, size/2) {
		shorter := false
		for from := 0; from < len(h.moves) && tried < replays; {
			tried++
			o := h.withoutMoves(from, min(from+size, len(h.moves)))
			if f := runHistory(t, o); slices.ContainsFunc(f, func(text string) bool { return failureSubject(text) == failureSubject(failures[0]) }) {
				h, failures, shorter = o, f, true
				continue
			}
			from += size
		}
		if size == 1 && !shorter || tried >= replays {
			return h, failures
		}
	}
}

// failureSubject returns the first two words of a failure, without the time. Failures with the same subject are assumed to
// have the same cause.
func failureSubject(failure string) string {
	if rest, ok := strings.CutPrefix(failure, "after "); ok {
		_, failure, _ = strings.Cut(rest, ": ")
	}
	words := strings.Fields(strings.TrimLeft(failure, "0123456789 "))
	return strings.Join(words[:min(2, len(words))], " ")
}

// TestGrammarCoversAllAnnotationsAndKinds checks that each annotation in the settings tables has valid and invalid values,
// and that the grammar writes each annotation, each class parameter and each kind of object.
func TestGrammarCoversAllAnnotationsAndKinds(t *testing.T) {
	t.Parallel()
	for _, r := range settings.IngressAnnotations.Rows() {
		c := choiceFor(r)
		if len(c.validValues) == 0 || len(c.invalidValues) == 0 {
			t.Errorf("%s has no values", r.Key)
		}
	}
	for key := range annotationChoices {
		if !slices.ContainsFunc(settings.IngressAnnotations.Rows(), func(r settings.Row) bool { return r.Key == key }) {
			t.Errorf("there is no annotation %s", key)
		}
	}
	g := &grammar{Rand: rand.New(rand.NewPCG(1, 1)), access: classOwner, rows: settings.IngressAnnotations.Rows()}
	written := writtenServiceAnnotations(g)
	for _, r := range settings.ServiceAnnotations.Rows() {
		head, _, _ := strings.Cut(r.Key, "<")
		if !slices.ContainsFunc(written, func(k string) bool { return strings.HasSuffix(k, head) || strings.Contains(k, head) }) {
			t.Errorf("annotation %s of Services is never written", r.Key)
		}
	}
	for key := range serviceChoices {
		if !slices.ContainsFunc(settings.ServiceAnnotations.Rows(), func(r settings.Row) bool { return r.Key == key }) {
			t.Errorf("there is no annotation %s of Services", key)
		}
	}
	keys, fields, kinds := map[string]bool{}, map[string]bool{}, map[cluster.Kind]bool{}
	for range 20000 {
		m := g.move()
		if m.object == nil {
			continue
		}
		kind, _ := cluster.KindOf(m.object)
		kinds[kind] = true
		for key := range m.object.GetAnnotations() {
			keys[key] = true
		}
		if p, ok := m.object.(*elbv2.IngressClassParams); ok {
			v := reflect.ValueOf(p.Spec)
			for i := range v.NumField() {
				fields[v.Type().Field(i).Name] = fields[v.Type().Field(i).Name] || !v.Field(i).IsZero()
			}
		}
	}
	for _, r := range settings.IngressAnnotations.Rows() {
		head, _, _ := strings.Cut(r.Key, "<")
		if !slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(k string) bool { return strings.HasPrefix(k, annotationPrefix+head) }) {
			t.Errorf("annotation %s is never written", r.Key)
		}
	}
	for name, set := range fields {
		if !set {
			t.Errorf("class parameter %s is never set", name)
		}
	}
	g.access = openClass
	for range 2000 {
		if m := g.move(); m.object != nil {
			kind, _ := cluster.KindOf(m.object)
			kinds[kind] = true
		}
	}
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindIngressClass, cluster.KindIngressClassParams, cluster.KindService, cluster.KindSecret,
		cluster.KindPod, cluster.KindEndpointSlice, cluster.KindEndpoints, cluster.KindBinding} {
		if !kinds[kind] {
			t.Errorf("no %s is ever written", kind)
		}
	}
}

// TestSeedDeterminesHistory checks that a seed always produces the same history.
func TestSeedDeterminesHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		if a, b := historyOf(seed).String(), historyOf(seed).String(); a != b {
			t.Errorf("seed %d: %s", seed, cmp.Diff(a, b))
		}
	}
}
