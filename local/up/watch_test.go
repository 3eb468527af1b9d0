package up

import (
	"testing"
	"time"
)

func TestRestartBackOffDoublesUntilStableRun(t *testing.T) {
	var b backOff
	for i, c := range []struct{ ranFor, want time.Duration }{
		{time.Hour, time.Second}, // the first exit
		{time.Second, 2 * time.Second},
		{time.Second, 4 * time.Second},
		{time.Second, 8 * time.Second},
		{time.Second, 16 * time.Second},
		{time.Second, 30 * time.Second},
		{59 * time.Second, 30 * time.Second},
		{time.Minute, time.Second},
		{0, 2 * time.Second},
	} {
		if got := b.nextWait(c.ranFor); got != c.want {
			t.Errorf("wait %d is %s, want %s", i, got, c.want)
		}
	}
}
