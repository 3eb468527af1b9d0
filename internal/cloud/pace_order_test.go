package cloud

import (
	"testing"
	"testing/synctest"
	"time"
)

// While registrations use the whole pace, deregistrations give way, but not for ever.
func TestRegistrationsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(DefaultPaces(), time.Now, time.Second)
		wait := func(op string) error { return p.wait(t.Context(), serviceELB, op) }
		for range 10 {
			if err := wait("DeregisterTargets"); err != nil {
				t.Fatalf("nobody else wants the first half of the bucket: %v", err)
			}
		}
		gone := 0
		for range 240 { // one minute at all that AWS admits
			start := time.Now()
			if err := wait("RegisterTargets"); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 700*time.Millisecond {
				t.Errorf("a registration waited for %v", d)
			}
			if wait("DeregisterTargets") == nil {
				gone++
			}
			time.Sleep(250*time.Millisecond - time.Since(start))
		}
		if gone < 9 || gone > 13 {
			t.Errorf("%d deregistrations in a minute, want one in five seconds", gone)
		}
		time.Sleep(10 * time.Second)
		if err := wait("DeregisterTargets"); err != nil {
			t.Errorf("with nobody else there: %v", err)
		}
	})
}
