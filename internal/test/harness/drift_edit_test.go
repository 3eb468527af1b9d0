package harness

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/prometheus/client_golang/prometheus"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// isIndependentOfEdit reports whether the run after an edit of the Ingress does not revert this drift. Targets and
// rules of node security groups belong to TargetGroupBindings, and tags are compared once per sync period.
func isIndependentOfEdit(name string) bool {
	return unwatchedDrifts[name] || strings.HasPrefix(name, "target deregistered") || strings.HasPrefix(name, "target without") ||
		strings.HasPrefix(name, "rule of the nodes") || strings.HasPrefix(name, "tag of")
}

// driftTotal returns the values of the metric fulcrum_drift_total by its label mode.
func driftTotal(t *testing.T, m *controller.Metrics) map[string]float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	if err := m.Register(reg); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			for _, l := range x.GetLabel() {
				if f.GetName() == "fulcrum_drift_total" && l.GetName() == "mode" {
					out[l.GetValue()] += x.GetCounter().GetValue()
				}
			}
		}
	}
	return out
}

// TestDriftThatAnEditRestoresIsReported checks that drift is reported and counted as drift if the run after an edit
// reverts it, also in report mode.
func TestDriftThatAnEditRestoresIsReported(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(drifts)) {
		drift := drifts[name]
		if isIndependentOfEdit(name) {
			continue
		}
		for m, mode := range []engine.DriftMode{engine.RepairDrift, engine.ReportDrift} {
			if m != i%2 && !seeds.Long() {
				continue // an edit reverts drift in both modes
			}
			t.Run(name+", "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					metrics := controller.NewMetrics()
					r := newSettledShop(t, Options{DriftMode: mode, Workers: 3, Checkpoints: true, Metrics: metrics})
					drift(newExternalActor(t, r))
					r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"))
					r.advanceTime(time.Minute)
					reported := driftEvents(r, "DriftRepaired")
					t.Logf("%q", reported)
					switch total := driftTotal(t, metrics); {
					case len(reported) == 0:
						t.Error("nothing is reported")
					case total["repair"] == 0 || total["report"] != 0:
						t.Errorf("counted as %v", total)
					}
					for _, text := range reported {
						if strings.Contains(text, `"80:3"`) || strings.Contains(text, `"443:3"`) { // the rule of /v3
							t.Errorf("a change of the edit is reported as drift: %s", text)
						}
					}
				})
			})
		}
	}
}

// TestEditIsNoDrift checks that an edit alone is never reported as drift.
func TestEditIsNoDrift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics := controller.NewMetrics()
		r := newSettledShop(t, Options{Drift: true, Workers: 3, Checkpoints: true, Metrics: metrics})
		for _, edit := range []string{
			fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"),
			fullIngress(r, "/=api", "/v3=web"),
			webIngress(ingressAnnotations("listen-ports", `[{"HTTP":81}]`, "inbound-cidrs", "10.0.0.0/8", "load-balancer-attributes", "idle_timeout.timeout_seconds=78"), "/=web"),
			fullIngress(r, "/=web"),
		} {
			r.Apply(edit)
			r.advanceTime(5 * time.Second)
			r.Apply(shop) // changes nothing
			r.advanceTime(8 * time.Minute)
		}
		if reported := driftEvents(r, "DriftRepaired"); len(reported) > 0 || len(driftTotal(t, metrics)) > 0 {
			t.Errorf("%q %v", reported, driftTotal(t, metrics))
		}
	})
}

// TestNewCertificateDuringDriftIsNoDrift checks that a new ACM certificate that a comparison finds together with drift
// is attached, also in report mode, and is not reported as drift.
func TestNewCertificateDuringDriftIsNoDrift(t *testing.T) {
	t.Parallel()
	for mode, reason := range map[engine.DriftMode]string{engine.RepairDrift: "DriftRepaired", engine.ReportDrift: "DriftFound"} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Drift: true, DriftMode: mode, Workers: 3, Checkpoints: true})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "tags", "team=shop"), "/=web"))
				r.advanceTime(2 * time.Hour)
				cert, key, err := selfSigned("shop.example.com")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := acm.NewFromConfig(AWSConfig(r.Emulator)).ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key}); err != nil {
					t.Fatal(err)
				}
				drifts["tag of the load balancer changed"](newExternalActor(t, r))
				r.advanceTime(15 * time.Minute)
				if got := r.certificatesOn(443); len(got) != 2 {
					t.Errorf("the listener has %q, the new certificate is missing", got)
				}
				if reported := driftEvents(r, reason); len(reported) != 1 || !strings.Contains(reported[0], "tags.team") {
					t.Errorf("%q", reported)
				}
			})
		})
	}
}

// TestAddedSecurityGroupSourceIsReportedOnce checks that a source that a user adds to the managed security group
// causes one event. In repair mode the event names the annotation that admits the source.
func TestAddedSecurityGroupSourceIsReportedOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []engine.DriftMode{engine.RepairDrift, engine.ReportDrift} {
		synctest.Test(t, func(t *testing.T) {
			r := newSettledShop(t, Options{Drift: true, DriftMode: mode, Workers: 3, Checkpoints: true})
			before := len(warningsByObject(r)["web"])
			drifts["source added to the managed security group"](newExternalActor(t, r))
			r.advanceTime(15 * time.Minute)
			reported := warningsByObject(r)["web"][before:]
			if len(reported) != 1 || !strings.Contains(reported[0], "tcp 22-22 0.0.0.0/0") || mode == engine.RepairDrift && !strings.Contains(reported[0], "inbound-cidrs") {
				t.Errorf("%s: %q", mode, reported)
			}
		})
	}
}

// TestDriftBehindALoadBalancerIsReportedOnItsOwner checks that drift of targets, and of the security group rules for
// them, is reported on the Ingress. A change of one security group causes one event, although two target groups use
// it.
func TestDriftBehindALoadBalancerIsReportedOnItsOwner(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"target deregistered":                       {"Ingress web", "TargetGroupBinding"},
		"target without a pod registered":           {"Ingress web", "TargetGroupBinding"},
		"rule of the nodes' security group revoked": {"Ingress web"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSettledShop(t, Options{Drift: true, Workers: 3, Checkpoints: true})
				drifts[name](newExternalActor(t, r))
				r.advanceTime(10 * time.Minute)
				reported := driftEvents(r, "DriftRepaired")
				slices.Sort(reported)
				if !slices.EqualFunc(reported, want, strings.HasPrefix) {
					t.Errorf("drift is reported as %q, want %q", reported, want)
				}
			})
		})
	}
}

// TestDriftIsNotReportedOnOwnersOfOtherNamespaces checks that a TargetGroupBinding that names a target group of
// another namespace causes no event on the Ingress of that namespace.
func TestDriftIsNotReportedOnOwnersOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSettledShop(t, Options{Drift: true, Workers: 3, Checkpoints: true})
		arn := newExternalActor(t, r).targetGroup("web")
		b := &elbv2.TargetGroupBinding{Spec: elbv2.TargetGroupBindingSpec{TargetGroupARN: arn}}
		b.Namespace, b.Name, b.Spec.ServiceRef.Name = "shop", "own", "web"
		owners := bindings.New(r.process.bindingConfig).Owners
		if got := owners(b); len(got) != 1 || got[0].String() != "Ingress shop/web" {
			t.Errorf("the owner is %v", got)
		}
		b.Namespace = "evil"
		if got := owners(b); len(got) > 0 {
			t.Errorf("the owner for another namespace is %v", got)
		}
	})
}
