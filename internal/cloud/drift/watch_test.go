package drift

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// testSource is a source of drift checks with a fixed rate of calls per second.
type testSource struct {
	rate   float64
	checks func() []Check
}

func (s testSource) Checks() []Check   { return s.checks() }
func (s testSource) ReadRate() float64 { return s.rate }

// TestDriftChecksKeepToTheirShareOfCalls checks that drift checks use no more than CallShare of the calls, however many
// checks there are. Every check runs, and the time between two runs of a check is bounded.
func TestDriftChecksKeepToTheirShareOfCalls(t *testing.T) {
	for _, n := range []int{1, 50, 500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, last := 0, map[int]time.Time{}
				longest := time.Duration(0)
				w := &Watch{AWS: testSource{rate: 40, checks: func() (out []Check) {
					for i := range n {
						out = append(out, Check{Key: fmt.Sprint(i), Period: durations.RareDriftPeriod, Read: func(ctx context.Context) error {
							if at, ok := last[i]; ok {
								longest = max(longest, time.Since(at))
							}
							last[i] = time.Now()
							for range 3 {
								CountCall(ctx)
								calls++
							}
							return nil
						}})
					}
					return out
				}}}
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
				defer cancel()
				w.Run(ctx)
				if most := int(4 * 3600 * 40 * CallShare); calls > most+3 {
					t.Errorf("%d calls, the share is %d", calls, most)
				}
				if len(last) != n {
					t.Errorf("%d of %d checks were made", len(last), n)
				}
				for _, at := range last {
					longest = max(longest, time.Since(at)) // a check that is never made again
				}
				pass := time.Duration(float64(3*n) / (40 * CallShare) * float64(time.Second))
				if bound := max(15*time.Minute, pass+time.Minute); longest > bound {
					t.Errorf("a check is made again after %s, a pass takes %s", longest, pass)
				}
			})
		})
	}
}

// TestDriftWatchExtendsAllPeriodsByOneFactor checks that the periods of all checks grow by the same factor if there are too
// many checks for CallShare. The check of tags is split into many parts, and one pass through all parts does not take longer
// than one pass through the other checks.
func TestDriftWatchExtendsAllPeriodsByOneFactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parts, others = 100, 2000
		passes := map[string]float64{}
		check := func(key string, every time.Duration, pass float64) Check {
			return Check{Key: key, Period: every, Read: func(ctx context.Context) error {
				CountCall(ctx)
				passes[key] += pass
				return nil
			}}
		}
		w := &Watch{AWS: testSource{rate: 50, checks: func() (out []Check) {
			out = append(out, check("tags", durations.FrequentDriftPeriod/parts, 1.0/parts))
			for i := range others {
				c := check("others", durations.FrequentDriftPeriod, 1.0/others)
				c.Key = fmt.Sprint(i)
				out = append(out, c)
			}
			return out
		}}}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Hour)
		defer cancel()
		w.Run(ctx)
		if p := passes["tags"] / passes["others"]; p < 0.9 || p > 1.1 {
			t.Errorf("%.1f passes of tags, %.1f of everything else", passes["tags"], passes["others"])
		}
	})
}

// TestDriftWatchSkipsRecentReads checks that a drift check does not run if another part of the controller has just read the
// same state.
func TestDriftWatchSkipsRecentReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []string
		check := func(key string, at func() time.Time) Check {
			return Check{Key: key, Period: durations.FrequentDriftPeriod, LastReadAt: at(), Read: func(context.Context) error { made = append(made, key); return nil }}
		}
		w := &Watch{AWS: testSource{rate: 50, checks: func() []Check {
			return []Check{check("fresh", time.Now), check("old", func() time.Time { return time.Time{} })}
		}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w.Run(ctx)
		if slices.Contains(made, "fresh") || len(made) < 14 {
			t.Errorf("made: %q", made)
		}
	})
}
