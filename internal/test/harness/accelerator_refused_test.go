package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// TestRejectedAcceleratorSettingIsReportedWithItsField checks that an event names the field of a setting of an
// accelerator that AWS refuses.
func TestRejectedAcceleratorSettingIsReportedWithItsField(t *testing.T) {
	t.Parallel()
	for operation, c := range map[string]struct{ words, field string }{
		"CreateAccelerator":          {"The IP address 192.0.2.1 is not in a range of this account", "spec.ipAddresses: "},
		"CreateListener":             {"The port range is not valid", "spec.listeners[0]: "},
		"CreateEndpointGroup":        {"The endpoint is not valid", "spec.listeners[0].endpointGroups[0]: "},
		"CreateAccelerator/anything": {"It cannot be made", "accelerator: "},
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				refused, _, _ := strings.Cut(operation, "/")
				r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
					if call.Service == "globalaccelerator" && call.Operation == refused {
						return fault.Action{Error: &store.Error{Code: "InvalidArgumentException", Message: c.words, Status: 400}}
					}
					return fault.Action{}
				})
				r.Apply(edgeAccelerator(webListener))
				r.Settle(5 * time.Minute)
				if events := eventsOf(r, "shop", "edge"); !slices.ContainsFunc(events, func(s string) bool {
					return strings.Contains(s, c.field) && strings.Contains(strings.ToLower(s), strings.ToLower(c.words))
				}) {
					t.Errorf("no event names %q: %s", c.field, strings.Join(events, "\n"))
				}
			})
		})
	}
}

// TestRefusedDeletionOfAcceleratorIsReported checks that the event about a refused deletion of an accelerator has the reason
// that aws-load-balancer-controller uses.
func TestRefusedDeletionOfAcceleratorIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
			if call.Operation == "DeleteAccelerator" {
				return fault.Action{Error: &store.Error{Code: "AccessDeniedException", Message: "no", Status: 400}}
			}
			return fault.Action{}
		})
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
		r.Settle(10 * time.Minute)
		events := strings.Join(eventsOf(r, "shop", "edge"), "\n")
		if !strings.Contains(events, "Warning FailedCleanup AccessDenied: ") || strings.Contains(events, "FailedDeploy") {
			t.Errorf("events: %s", events)
		}
	})
}

// TestClientIPPreservationOfTLSListenersAfterARestart checks that a new process, which has not read the listeners of a
// network load balancer, does not request client IP preservation for an endpoint with TLS listeners.
func TestClientIPPreservationOfTLSListenersAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{Checkpoints: true})
		r.Apply(sharedService("api", "01", ipTargets+", service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing, service.beta.kubernetes.io/aws-load-balancer-ssl-cert: "+importCertificate(r, "api.example.com"), servicePort("443")))
		r.Settle(10 * time.Minute)
		front := func(weight string) string {
			return accelerator("shop", "front", listenerTo(`{type: Service, name: api, clientIPPreservationEnabled: true, weight: `+weight+`}`))
		}
		r.Apply(front("10"))
		r.Settle(20 * time.Minute)
		expectEndpoint := func(want string) {
			t.Helper()
			if got := strings.Join(acceleratorState(r), "\n"); !strings.Contains(got, want) {
				t.Errorf("%s is not in\n%s\nevents %v", want, got, eventsOf(r, "shop", "front"))
			}
		}
		expectEndpoint("weight=10 preserve=false")
		r.Start()
		r.Settle(time.Second)
		r.Apply(front("20"))
		r.Settle(10 * time.Second)
		expectEndpoint("weight=20 preserve=false")
	})
}
