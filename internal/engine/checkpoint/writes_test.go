package checkpoint

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestARunWaitsForTheStoreOnce checks that Wait does not wait longer than the limit, and that later calls then do not wait.
func TestARunWaitsForTheStoreOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Minute
		stored, never := make(chan struct{}), make(chan struct{})
		close(stored)
		var p PendingWrites
		for _, step := range []struct {
			what  string
			write <-chan struct{}
			want  time.Duration
		}{
			{"nothing", nil, 0},
			{"one that has ended", stored, 0},
			{"one that does not end", never, limit},
			{"another one", never, 0},
		} {
			p.Add(step.write)
			begun := time.Now()
			p.Wait(t.Context(), limit)
			if took := time.Since(begun); took != step.want {
				t.Errorf("%s: waited %v, want %v", step.what, took, step.want)
			}
		}
	})
}
