package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// requestPrivateCertificate requests a certificate for a host from a private CA, which issues it immediately, and
// returns its ARN.
func (r *Harness) requestPrivateCertificate(ca, host string) string {
	r.T.Helper()
	out, err := acm.NewFromConfig(AWSConfig(r.Emulator)).RequestCertificate(r.T.Context(), &acm.RequestCertificateInput{DomainName: &host, CertificateAuthorityArn: &ca})
	if err != nil {
		r.T.Fatal(err)
	}
	return *out.CertificateArn
}

// certificatesOn returns the ARNs of the certificates of all listeners on a port, sorted and without duplicates.
func (r *Harness) certificatesOn(port int32) (out []string) {
	r.T.Helper()
	api := elb.NewFromConfig(AWSConfig(r.Emulator))
	lbs, err := api.DescribeLoadBalancers(r.T.Context(), &elb.DescribeLoadBalancersInput{})
	if err != nil {
		r.T.Fatal(err)
	}
	for _, lb := range lbs.LoadBalancers {
		listeners, err := api.DescribeListeners(r.T.Context(), &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn})
		if err != nil {
			r.T.Fatal(err)
		}
		for _, l := range listeners.Listeners {
			if *l.Port != port {
				continue
			}
			certs, err := api.DescribeListenerCertificates(r.T.Context(), &elb.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn})
			if err != nil {
				r.T.Fatal(err)
			}
			for _, c := range certs.Certificates {
				out = append(out, *c.CertificateArn)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tlsGateway is Gateway "edge" with an HTTPS listener without certificateRefs. The controller discovers its
// certificate.
var tlsGateway = strings.Replace(edgeGateway, `{name: http, port: 80, protocol: HTTP, hostname: "*.example.com"}`, "{name: https, port: 443, protocol: HTTPS, hostname: shop.example.com}", 1)

// TestAllowedCertificateAuthorityARNs checks that with --allowed-certificate-authority-arns only certificates of these
// CAs are discovered for Ingresses and Gateways: none of another CA, and no public ones. Without the flag, other
// certificates are discovered.
func TestAllowedCertificateAuthorityARNs(t *testing.T) {
	t.Parallel()
	const allowed, other = "arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/allowed", "arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/other"
	for name, docs := range map[string]string{
		"Ingress": shop + "---" + webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`), "/=web"),
		"Gateway": tlsGateway + routeOf("web", "shop.example.com", "backendRefs: [{name: web, port: 80}]"),
	} {
		for _, limited := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/limited %v", name, limited), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{
						Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
						Plan: func(o *plan.Options) {
							if limited {
								c := config.Default()
								c.Ingress.CertificateAuthorities = []string{allowed}
								o.AllowedCAs = controller.PlanOptions(c, "").AllowedCAs
							}
						},
					})
					foreign := r.requestPrivateCertificate(other, "shop.example.com")
					r.Apply(docs, readyPods("web", podAddresses[:2]...))
					r.advanceTime(20 * time.Minute)
					got := r.certificatesOn(443)
					if !limited {
						if len(got) == 0 {
							t.Fatalf("no certificate is found: %v", warningsByObject(r))
						}
						return
					}
					if len(got) > 0 {
						t.Fatalf("without a certificate of an allowed CA: %v; another CA issued %s", got, foreign)
					}
					own := r.requestPrivateCertificate(allowed, "shop.example.com")
					r.advanceTime(12 * time.Hour)
					if d := cmp.Diff([]string{own}, r.certificatesOn(443)); d != "" {
						t.Errorf("certificates (-want +got):\n%s\n%v", d, warningsByObject(r))
					}
				})
			})
		}
	}
}

// datagramGateway is Gateway "dns" of an NLB with a UDP listener, its UDPRoute and Service "web".
const datagramGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: dns, uid: 33333333-0000-4000-8000-000000000002}
spec: {gatewayClassName: nlb, listeners: [{name: udp, protocol: UDP, port: 53}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 53, targetPort: 8080, protocol: UDP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {namespace: shop, name: dns}
spec:
  parentRefs: [{name: dns}]
  rules: [{backendRefs: [{name: web, port: 53}]}]
---
`

// TestDisableRestrictedSGRules checks that with --disable-restricted-sg-rules all ports of nodes and pods are open to
// the load balancers of Ingresses and Gateways, and only the required ports without it. A restart with the other value
// changes the rules.
func TestDisableRestrictedSGRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		docs           []string
		exact, allOpen []string
	}{
		"Ingress": {[]string{shop, webIngress("", "/=web")}, []string{"tcp 8080-8080"}, []string{"tcp 0-65535"}},
		"ALB Gateway": {[]string{edgeGateway + routeOf("web", "a.example.com", "backendRefs: [{name: web, port: 80}]")},
			[]string{"tcp 8080-8080"}, []string{"tcp 0-65535"}},
		"NLB Gateway": {[]string{datagramGateway}, []string{"tcp 8080-8080", "udp 8080-8080"}, []string{"tcp 0-65535", "udp 0-65535"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				unrestricted := false
				set := func(o *assemble.Options) { o.UnrestrictedRules = unrestricted }
				r := shopWith(t, Options{
					Ingress: func(o *ingress.Options) { set(&o.Options) },
					Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets; set(&o.Options) },
				})
				open := func() (out []string) {
					for _, line := range r.State() {
						if strings.HasPrefix(line, `security-group ["nodes"`) {
							for _, rule := range strings.Split(line, `"`) {
								if ports, _, ok := strings.Cut(rule, " sg:k8s-traffic"); ok {
									out = append(out, ports)
								}
							}
						}
					}
					slices.Sort(out)
					return out
				}
				r.Apply(append(c.docs, readyPods("web", podAddresses[:2]...))...)
				for _, step := range []struct {
					unrestricted bool
					want         []string
				}{{false, c.exact}, {true, c.allOpen}, {false, c.exact}} {
					if unrestricted != step.unrestricted {
						unrestricted = step.unrestricted
						r.Start()
					}
					r.advanceTime(2 * time.Hour)
					if d := cmp.Diff(step.want, open()); d != "" {
						t.Errorf("unrestricted %v (-want +got):\n%s\n%v", step.unrestricted, d, warningsByObject(r))
					}
				}
			})
		})
	}
}

// TestElasticIPsGoToDiscoveredSubnetsInOrder checks that the Elastic IPs of a Service are assigned to the discovered
// subnets in ascending order of subnet ID, and do not change afterwards.
func TestElasticIPsGoToDiscoveredSubnetsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", serviceAnnotations("aws-load-balancer-scheme", "internet-facing",
			"aws-load-balancer-eip-allocations", strings.Join(r.Seeded.EIPs, ",")), onePort))
		r.advanceTime(20 * time.Minute)
		elastic := func(_ types.AvailabilityZone, a types.LoadBalancerAddress) string {
			return aws.ToString(a.AllocationId)
		}
		want := valuesBySubnet(slices.Sorted(slices.Values(r.Seeded.Public)), r.Seeded.EIPs)
		if d := cmp.Diff(want, r.addressesBySubnet(elastic)); d != "" {
			t.Fatalf("addresses (-want +got):\n%s\n%v", d, warningsByObject(r))
		}
		r.Emulator.Calls().Reset()
		r.advanceTime(11 * time.Hour)
		r.Start()
		r.advanceTime(time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d changes without an edit: %v", n, r.Emulator.Calls().Counts())
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Error(w)
		}
	})
}

// TestUpperCaseLoadBalancerNameInTheStatus checks load balancer names with upper-case letters, for which AWS returns
// such hostnames. The status shows the hostnames in lower case, as Kubernetes requires, and is not written again after
// a restart.
func TestUpperCaseLoadBalancerNameInTheStatus(t *testing.T) {
	t.Parallel()
	const configured = `
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: shop, name: edge}
spec: {loadBalancerName: Edge-LB}
---
`
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("mail", podAddresses[3]), configured+edgeGateway+edgeWithConfiguration+
			routeOf("one", "one.example.com", "backendRefs: [{name: web, port: 80}]"),
			webIngress(ingressAnnotations("load-balancer-name", "Shop-LB"), "/=web"), nlbService("mail", serviceAnnotations("aws-load-balancer-name", "Mail-LB"), onePort))
		r.advanceTime(time.Hour)
		found, err := elb.NewFromConfig(AWSConfig(r.Emulator)).DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, lb := range found.LoadBalancers {
			if !strings.Contains(*lb.DNSName, *lb.LoadBalancerName) && !strings.Contains(*lb.DNSName, "internal-"+*lb.LoadBalancerName) {
				t.Errorf("AWS shows %s for %s", *lb.DNSName, *lb.LoadBalancerName)
			}
			want[map[string]string{"Shop-LB": "Ingress", "Mail-LB": "Service", "Edge-LB": "Gateway"}[*lb.LoadBalancerName]] = strings.ToLower(*lb.DNSName)
		}
		if d := cmp.Diff(want, hostnamesByKind(r)); d != "" || len(want) != 3 {
			t.Errorf("host names (-want +got):\n%s\n%v", d, warningsByObject(r))
		}
		versions := func() (out []string) {
			for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindService, cluster.KindGateway} {
				for _, o := range r.Store.All(kind) {
					out = append(out, o.GetName()+" "+o.GetResourceVersion())
				}
			}
			return out
		}
		before := versions()
		r.Emulator.Calls().Reset()
		r.Start()
		r.advanceTime(12 * time.Hour)
		if d := cmp.Diff(before, versions()); d != "" {
			t.Errorf("written again (-before +after):\n%s", d)
		}
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d changes without an edit: %v", n, r.Emulator.Calls().Counts())
		}
	})
}
