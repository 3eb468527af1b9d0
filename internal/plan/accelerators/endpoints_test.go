package accelerators_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// TestFullEndpointGroupKeepsAnEndpointThatServes checks which endpoints make room for new ones in an endpoint group with 10
// endpoints, the quota of AWS. The last endpoint that gets traffic stays until another one gets traffic. In the end, the endpoint group has
// all desired endpoints.
func TestFullEndpointGroupKeepsAnEndpointThatServes(t *testing.T) {
	for name, x := range map[string]struct {
		healthy, stay, desired int
		want                   string
	}{
		"the first endpoint is the only healthy one": {healthy: 1, desired: 1, want: "remove old1, add new0, remove old2 old3 old4 old5 old6 old7 old8 old9"},
		"all are healthy and are replaced":           {healthy: 10, desired: 10, want: "remove old0 old1 old2 old3 old4 old5 old6 old7 old8, add new0 new1 new2 new3 new4 new5 new6 new7 new8"},
		"the only one to leave is healthy":           {healthy: 1, stay: 9, desired: 1, want: ""},
		"one that stays is healthy":                  {healthy: 2, stay: 9, desired: 1, want: "remove old0, add new0"},
		"none is healthy":                            {desired: 10, want: "remove old0 old1 old2 old3 old4 old5 old6 old7 old8 old9, add new0 new1 new2 new3 new4 new5 new6 new7 new8 new9"},
	} {
		t.Run(name, func(t *testing.T) {
			desired := endpointGroupIn(ownRegion, nil)
			desired.Endpoints = nil
			live := observed.EndpointGroup{ARN: "g", Region: ownRegion, Dial: 100}
			for i := range 10 {
				e := observed.Endpoint{ID: fmt.Sprint("old", i), Weight: 128, Health: observed.EndpointUnhealthy}
				if i < x.healthy {
					e.Health = observed.EndpointHealthy
				}
				live.Endpoints = append(live.Endpoints, e)
				if i >= 10-x.stay {
					desired.Endpoints = append(desired.Endpoints, model.Endpoint{ID: e.ID, Weight: 128})
				}
			}
			for i := range x.desired {
				desired.Endpoints = append(desired.Endpoints, model.Endpoint{ID: fmt.Sprint("new", i), Weight: 128})
			}
			ports := []model.PortRange{{From: 80, To: 80}}
			want := &model.Accelerator{Name: "edge", AddressType: model.IPv4, UID: "u", Listeners: []model.AcceleratorListener{{ID: "Listener-0", Protocol: model.TCP, Ports: ports, Groups: []model.EndpointGroup{desired}}}}
			have := observed.Stack{Accelerators: []observed.Accelerator{{
				ARN: "acc", Name: "edge", AddressType: model.IPv4, Enabled: true, State: observed.AcceleratorDeployed, Tags: map[string]string{},
				Listeners: []observed.AcceleratorListener{{ARN: "l", Protocol: model.TCP, Ports: ports, Groups: []observed.EndpointGroup{live}}},
			}}}
			p, _ := planner.Make(desiredStack(want, "acc"), have, options, plan.Memory{})
			var got []string
			for _, s := range p.Steps {
				switch do := s.Do.(type) {
				case plan.RemoveEndpoints:
					if !s.Waits() {
						got = append(got, "remove "+strings.Join(slices.Sorted(slices.Values(do.IDs)), " "))
					}
				case plan.AddEndpoints:
					var ids []string
					for _, e := range do.Endpoints {
						ids = append(ids, e.ID)
					}
					got = append(got, "add "+strings.Join(ids, " "))
				}
			}
			if got := strings.Join(got, ", "); got != x.want {
				t.Errorf("got %s, want %s", got, x.want)
			}
			final := converge(t, want, have, nil).Accelerators[0].Listeners[0].Groups[0].Endpoints
			if len(final) != x.stay+x.desired {
				t.Errorf("in the end there are %d endpoints, want %d", len(final), x.stay+x.desired)
			}
		})
	}
}
