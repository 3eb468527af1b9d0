package handover

import (
	"fmt"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestAdoptionIsReadyOnlyIfAllIsCompared checks that, in dry run, a take-over by a Gateway is reported as ready only if all
// distinct requests for the rules were compared.
func TestAdoptionIsReadyOnlyIfAllIsCompared(t *testing.T) {
	t.Parallel()
	for headers, want := range map[int]finding.Reason{1: finding.AdoptionReady, 6: finding.AdoptionDiffers} {
		var conditions []model.Condition
		for i := range headers {
			conditions = append(conditions, model.HTTPHeader{Name: fmt.Sprint("h", i), Values: []string{"1"}})
		}
		with := func(s model.Stack) model.Stack {
			s.LoadBalancer = &model.LoadBalancer{Listeners: []model.Listener{{
				Port: 80, Default: []model.Action{model.FixedResponse{Status: "404"}},
				Rules: []model.Rule{{Conditions: conditions, Actions: []model.Action{model.FixedResponse{Status: "200"}}}},
			}}}
			return s
		}
		found := Differences(with(adoptingGateway(true, false)), with(stackOf(ingressGroup, true)), nil)
		if len(found) != 1 || found[0].Reason != want {
			t.Errorf("%d headers: %v", headers, found)
		}
	}
}
