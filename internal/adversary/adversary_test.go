package adversary

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// number is how many histories are run where nothing else is asked for.
const number = 200

// survey lists one line for each history that fails, and goes on.
var survey = os.Getenv("FULCRUM_ADVERSARY_SURVEY") != ""

// TestHistories runs random histories of the attacker.
func TestHistories(t *testing.T) {
	if seed, err := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY_SEED"), 10, 64); err == nil {
		examine(t, seed)
		return
	}
	n := uint64(number)
	if given, err := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY"), 10, 64); err == nil {
		n = given
	}
	shards := uint64(1)
	if n > number {
		shards = uint64(runtime.GOMAXPROCS(0))
	}
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			failed := 0
			for seed := shard; seed < n && failed < 5; seed += shards {
				if !examine(t, seed) {
					failed++
				}
			}
		})
	}
}

// examine runs the history of a seed, and looks for the shortest one that still fails.
func examine(t *testing.T, seed uint64) bool {
	t.Helper()
	h := historyOf(seed)
	failures := play(t, h)
	if len(failures) == 0 {
		return true
	}
	if survey {
		t.Errorf("FULCRUM_ADVERSARY_SEED=%d (%v): %.400s", seed, h.setup, failures[0])
		return true
	}
	h, failures = shrink(t, h, failures)
	t.Errorf("FULCRUM_ADVERSARY_SEED=%d fails with %d moves:\n%s\n\n%v", seed, len(h.moves), strings.Join(failures, "\n"), h)
	return false
}

// shrink leaves out moves as long as the history still fails: halves first, then smaller parts.
func shrink(t *testing.T, h history, failures []string) (history, []string) {
	t.Helper()
	const replays = 80
	tried := 0
	for size := max(1, len(h.moves)/2); ; size = max(1, size/2) {
		shorter := false
		for from := 0; from < len(h.moves) && tried < replays; {
			tried++
			o := h.without(from, min(from+size, len(h.moves)))
			if f := play(t, o); len(f) > 0 {
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
