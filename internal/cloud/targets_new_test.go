package cloud_test

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

func TestNobodyAsksWhatIsInATargetGroupMadeAMomentAgo(t *testing.T) {
	r := newRig(t)
	p, _, _ := r.draft(wish(web))
	if err := r.apply(p); err != nil {
		t.Fatal(err)
	}
	arn := r.groupARN("api")
	r.calls()
	if got := r.states(arn, time.Hour); len(got) != 0 {
		t.Errorf("targets of a new group: %v", got)
	}
	if got := r.calls(); got != "" {
		t.Errorf("calls:\n%s", got)
	}
	if err := r.cloud.As(bindings.Account{}).Register(r.ctx, arn, []bindings.Target{{ID: "10.0.128.10", Port: 8080}}); err != nil {
		t.Fatal(err)
	}
	if got := r.states(arn, time.Hour); got["10.0.128.10"] != "initial" {
		t.Errorf("after registering: %v", got)
	}
	r.states(arn, 0)
	if got := r.calls(); got != "DescribeTargetHealth 1\nRegisterTargets 1" {
		t.Errorf("calls:\n%s", got)
	}
}
