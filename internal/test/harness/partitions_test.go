package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// hostnamesByKind returns the hostnames in the statuses of the Ingress, the Service and the Gateway, by kind.
func hostnamesByKind(r *Harness) map[string]string {
	out := map[string]string{}
	for _, o := range r.Store.All(cluster.KindIngress) {
		for _, i := range o.(*networkingv1.Ingress).Status.LoadBalancer.Ingress {
			out["Ingress"] = i.Hostname
		}
	}
	for _, o := range r.Store.All(cluster.KindService) {
		for _, i := range o.(*corev1.Service).Status.LoadBalancer.Ingress {
			out["Service"] = i.Hostname
		}
	}
	for _, o := range r.Store.All(cluster.KindGateway) {
		for _, a := range o.(*gatewayv1.Gateway).Status.Addresses {
			out["Gateway"] = a.Value
		}
	}
	return out
}

// TestEveryPartitionIsServed checks each AWS partition. An Ingress, a Service and a Gateway get load balancers with the
// IAM policies of the partition, a restart changes nothing, and nothing remains after their deletion.
func TestEveryPartitionIsServed(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{
		"aws": ".us-west-2.elb.amazonaws.com", "aws-cn": ".cn-northwest-1.elb.amazonaws.com.cn", "aws-us-gov": ".us-gov-west-1.elb.amazonaws.com",
		"aws-eusc": ".eusc-de-east-1.elb.amazonaws.eu", "aws-iso": ".us-iso-east-1.elb.c2s.ic.gov", "aws-iso-b": ".us-isob-east-1.elb.sc2s.sgov.gov",
		"aws-iso-e": ".eu-isoe-west-1.elb.cloud.adc-e.uk", "aws-iso-f": ".us-isof-south-1.elb.csp.hci.ic.gov",
	}
	for _, partition := range rights.Partitions {
		suffix, ok := hosts[partition]
		if !ok {
			t.Errorf("partition %s has no hostname suffix in this test", partition)
		}
		t.Run(partition, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opt := Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }}
				opt.Emulator.Partition = partition
				r := shopWith(t, opt)
				before := r.State()
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("mail", podAddresses[3]), edgeGateway, routeOf("one", "one.example.com", "backendRefs: [{name: web, port: 80}]"),
					webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "tags", "team=a"), "/=web"), nlbService("mail", serviceAnnotations(), onePort))
				r.settleOrFail(time.Hour)
				hosts := hostnamesByKind(r)
				if d := cmp.Diff([]string{"Gateway", "Ingress", "Service"}, slices.Sorted(maps.Keys(hosts))); d != "" {
					t.Fatalf("%s; warnings: %v", d, warningsByObject(r))
				}
				network := strings.Replace(suffix, strings.Split(suffix, ".elb.")[0]+".elb", ".elb"+strings.Split(suffix, ".elb.")[0], 1)
				for of, host := range hosts {
					if want := map[string]string{"Service": network}[of]; !strings.HasSuffix(host, suffix) && (want == "" || !strings.HasSuffix(host, want)) {
						t.Errorf("the %s shows %s", of, host)
					}
				}
				for _, line := range r.State() {
					if strings.Contains(line, "arn:") && !strings.Contains(line, "arn:"+partition+":") {
						t.Error(line)
					}
				}
				if w := warningsByObject(r); len(w) > 0 {
					t.Error(w)
				}
				r.Emulator.Calls().Reset()
				r.Start()
				r.settleOrFail(time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d mutating calls after a restart: %v", n, r.Emulator.Calls().Counts())
				}
				r.deleteObject(cluster.KindIngress, "shop", "web")
				r.deleteObject(cluster.KindService, "shop", "mail")
				r.deleteObject(cluster.KindGateway, "shop", "edge")
				r.settleOrFail(2 * time.Hour)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("left behind (-before +after):\n%s", d)
				}
			})
		})
	}
}

// TestScenariosInEveryPartition checks the permission scenarios with the IAM policies of two other partitions, or of
// all in the long form. Shield exists only in partition "aws". In the other partitions, the load balancer is served
// without Shield.
func TestScenariosInEveryPartition(t *testing.T) {
	t.Parallel()
	tried := rights.Partitions[1:3] // the remaining partitions differ from these only in their names
	if seeds.Long() {
		tried = rights.Partitions[1:]
	}
	for _, partition := range tried {
		for _, name := range slices.Sorted(maps.Keys(permissionScenarios)) {
			t.Run(fmt.Sprintf("%s/%s", partition, name), func(t *testing.T) {
				out := runPermissionScenario(t, name, partition, "", "")
				for denied := range out.denied {
					t.Error(denied)
				}
				for _, w := range out.warnings {
					if strings.Contains(w, "CallFailed") {
						t.Error(w)
					}
				}
				if len(out.state) < 3 {
					t.Errorf("AWS has only %q; warnings: %q", out.state, out.warnings)
				}
			})
		}
	}
}
