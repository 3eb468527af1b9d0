package dataplane_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

func Example() {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s by %s", r.URL.Path, r.Header.Get("X-Forwarded-Proto"))
	}))
	defer app.Close()
	at := netip.MustParseAddrPort(app.Listener.Addr().String())

	plane := dataplane.New(dataplane.Options{
		// Listen on a free port instead of port 80.
		BindAddress: func(at netip.AddrPort) netip.AddrPort {
			return netip.AddrPortFrom(dataplane.Loopback(at.Addr()), 0)
		},
	})
	defer plane.Close()
	err := plane.Apply(dataplane.Config{
		LoadBalancers: []dataplane.LoadBalancer{{
			ARN:   "lb",
			Nodes: []dataplane.Node{{Zone: "eu-west-1a", Address: netip.MustParseAddr("10.250.9.5")}},
			Listeners: []dataplane.Listener{{
				ARN: "listener", Port: 80, Protocol: dataplane.HTTP,
				DefaultRule: dataplane.Rule{Action: dataplane.FixedResponse{Status: 404, Body: "nothing here"}},
				Rules: []dataplane.Rule{{
					Priority:   1,
					Conditions: []dataplane.Condition{dataplane.PathPattern{Values: []string{"/app/*"}}},
					Action:     dataplane.Forward{TargetGroups: []dataplane.WeightedTargetGroup{{ARN: "group"}}},
				}},
			}},
		}},
		TargetGroups: []dataplane.TargetGroup{{
			ARN: "group", Protocol: dataplane.HTTP, HealthCheck: dataplane.HealthCheck{Disabled: true},
			Targets: []dataplane.Target{{ID: "app", Address: at.Addr(), Port: at.Port()}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/app/1", "/"} {
		resp, err := http.Get("http://" + plane.Endpoints()[0].LocalAddress.String() + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, string(body))
	}
	// Output:
	// 200 /app/1 by http
	// 404 nothing here
}
