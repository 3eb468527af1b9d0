package cloud_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/checks"
)

// TestUsageIsCountedOnAllPages checks that the usage of quotas does not depend on the size of the pages of AWS.
func TestUsageIsCountedOnAllPages(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(fullStack())
	want, _, err := checks.New(r.cloud).ReadUsage(r.ctx)
	if err != nil || len(want) == 0 {
		t.Fatalf("usage %v, error %v", want, err)
	}
	r.em.Store().Config.PageSize = 1
	got, _, err := checks.New(r.cloud).ReadUsage(r.ctx)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-whole +by pages):\n%s", err, diff)
	}
}
