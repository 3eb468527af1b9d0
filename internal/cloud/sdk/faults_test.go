package sdk

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// TestOptionalReadSharesAnEssentialRead checks that an optional read that waits for a read of another caller reports the
// failure of that read as a fault, although the other caller gets the error itself.
func TestOptionalReadSharesAnEssentialRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Unix(0, 0)
		c := &Client{Config: Config{Clock: testclock.FromVariable(&now)}}
		c.ForgetFaults()
		answer := make(chan error)
		go func() {
			if err := c.ReadShared(t.Context(), "health", func() error { return <-answer }); err == nil || FaultOf(err) != nil {
				t.Errorf("the essential read has error %v", err)
			}
		}()
		synctest.Wait()
		for range 2 {
			go func() {
				err := c.ReadOptional(t.Context(), "health", func() error {
					t.Error("the read is not shared")
					return nil
				})
				if f := FaultOf(err); f == nil || f.Message == "" {
					t.Errorf("the optional read has error %v and fault %v", err, f)
				}
			}()
		}
		synctest.Wait()
		answer <- errors.New("connection reset")
		synctest.Wait()
	})
}
