package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// hostileBinding returns a TargetGroupBinding of namespace "team" with the given spec and a forged checkpoint.
func hostileBinding(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: %s, namespace: team, annotations: {elbv2.k8s.aws/checkpoint: forged, elbv2.k8s.aws/checkpoint-timestamp: "99999999999"}}
spec: %s
`, name, spec)
}

const missingTargetGroupARN = "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/none/0000000000000000"

// hostileObjects returns lists of malformed manifests by description. They are objects of namespace "team" and
// IngressClasses.
func hostileObjects(r *Harness) map[string][]string {
	secure := func(secret string) string {
		oidc := fmt.Sprintf(`{"issuer":"https://i","authorizationEndpoint":"https://a","tokenEndpoint":"https://t","userInfoEndpoint":"https://u","secretName":%q}`, secret)
		return ingressInNamespace("team", "login", "alb", "team.example.com", "", "group.name", "edge", "listen-ports", `[{"HTTPS":8443}]`, "certificate-arn", r.Seeded.Certs["example.com"], "auth-type", "oidc", "auth-idp-oidc", oidc)
	}
	secret := func(data string) string {
		return "\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: team}\n" + data + "\n"
	}
	service := func(meta, spec string) string {
		return fmt.Sprintf("\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: team, uid: 22222222-0000-4000-8000-000000000001%s}\nspec: {%s}\n", meta, spec)
	}
	use := ingressInNamespace("team", "user", "alb", "team.example.com", "", "group.name", "edge")
	var bindings, classes []string
	for i, spec := range []string{
		"{targetGroupARN: " + missingTargetGroupARN + ", targetType: ip, serviceRef: {name: web, port: 80}}",
		"{targetGroupARN: 'x', targetType: ip, serviceRef: {name: web, port: 80}}",
		"{targetGroupName: '" + strings.Repeat("x", 5000) + "', serviceRef: {name: web, port: 80}}",
		"{targetGroupARN: " + missingTargetGroupARN + ", targetType: instance, serviceRef: {name: web, port: http}, nodeSelector: {matchExpressions: [{key: a b, operator: Near}]}}",
		"{targetGroupARN: " + r.Seeded.TargetGroups["external"] + ", targetType: ip, serviceRef: {name: web, port: -1}, networking: {ingress: [{from: [{}], ports: [{protocol: x, port: -1}, {port: 70000}]}, {from: [{ipBlock: {cidr: x}}, {securityGroup: {groupID: sg-0}}], ports: [{}]}]}}",
		"{targetGroupARN: " + missingTargetGroupARN + ", targetType: ip, serviceRef: {name: web, port: 80}, iamRoleArnToAssume: 'arn:aws:iam::1:role/*', assumeRoleExternalId: \"\\n\"}",
		"{targetGroupARN: " + missingTargetGroupARN + ", targetType: ip, serviceRef: {name: ../shop/web, port: 80}, multiClusterTargetGroup: true, vpcID: vpc-0}",
	} {
		bindings = append(bindings, hostileBinding(fmt.Sprintf("hostile-%d", i), spec))
	}
	for i, spec := range []string{
		"{group: {name: edge}, scheme: sideways, ipAddressType: ipv9, inboundCIDRs: [x, 0.0.0.0/33]}",
		"{group: {name: '../edge'}, namespaceSelector: {matchExpressions: [{key: a b, operator: Near}]}}",
		"{group: {name: edge}, subnets: {ids: ['', x]}, loadBalancerAttributes: [{key: '', value: ''}], listeners: [{protocol: TCP, port: -1}], minimumLoadBalancerCapacity: {capacityUnits: -1}, targetType: moon, sslPolicy: x, sslRedirectPort: x, certificateArn: [x], wafv2AclArn: x, ipamConfiguration: {ipv4IPAMPoolId: x}}",
		"{group: {name: edge}, tags: [" + strings.Repeat("{key: '', value: ''},{key: a, value: b},", 500) + "]}",
	} {
		class := fmt.Sprintf("hostile%d", i)
		classes = append(classes, classNamed(class, spec), ingressInNamespace("team", class, class, "team.example.com", "", "group.order", "-1000"))
	}
	return map[string][]string{
		"Ingress": {
			ingressInNamespace("team", "empty", "alb", `""`, "", "group.name", "edge", "group.order", "-1000", "listen-ports", "[]"),
			ingressInNamespace("team", "nested", "alb", "team.example.com", "", "group.name", "edge", "actions.web", strings.Repeat("[", 20000), "conditions.web", strings.Repeat(`{"a":`, 20000)),
			ingressInNamespace("team", "wild", "alb", `"*.example.com"`, "", "group.name", "edge", "conditions.web", `[{"field":"host-header","hostHeaderConfig":{"values":["*","*.*.*.*","?????"]}},{"field":"path-pattern","pathPatternConfig":{"regexValues":["(a+)+$"]}}]`),
			strings.Replace(use, "http: {paths: [{", "http: {paths: [{path: '', pathType: Exact, backend: {resource: {apiGroup: v1, kind: Secret, name: login}}}, {", 1),
		},
		"Service": {
			service(", annotations: {alb.ingress.kubernetes.io/target-group-attributes: 'a=b,deregistration_delay.timeout_seconds=-1', alb.ingress.kubernetes.io/healthcheck-port: '99999999999', alb.ingress.kubernetes.io/success-codes: '"+strings.Repeat("2", 5000)+"'}", "type: NodePort, ports: [{port: 80, targetPort: -1, nodePort: 70000}]"), use,
		},
		"Service without ports":  {service("", "type: ExternalName, externalName: '../shop', selector: {app: web}"), use},
		"Service with odd ports": {service("", "type: LoadBalancer, ipFamilies: [IPv6, IPv4, x], ports: [{name: a, port: 80, targetPort: no-such-name}, {name: a, port: 80}]"), use},
		"EndpointSlice": {use, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: team, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{}, {name: x}, {port: -1}, {port: 80}]
endpoints: [{addresses: []}, {addresses: [""], targetRef: {kind: Pod}}, {addresses: [x, "::1"], targetRef: {kind: Pod, name: own-0}}, {addresses: [127.0.0.1], targetRef: {kind: Pod, name: own-0, uid: own-0}}, {addresses: [169.254.169.254], targetRef: {kind: Pod, name: own-0}}]
`, teamPod("169.254.169.254")},
		"Pod":                             {use, teamPodWithSlice("x", `, annotations: {vpc.amazonaws.com/pod-eni: '{"a":'}, finalizers: [team.example.com/keep]`, ", readinessGates: [{conditionType: target-health.elbv2.k8s.aws/}, {conditionType: target-health.elbv2.k8s.aws/none}]", 0, -1, 70000)},
		"TargetGroupBinding":              bindings,
		"Secret":                          {secret("data: {clientID: '', clientSecret: ''}"), secure("login")},
		"Secret that is binary":           {secret("data: {clientID: AAECA/8=, clientSecret: //79AAECAwQ=}"), secure("login")},
		"Secret that is large":            {secret("stringData: {clientID: x, clientSecret: " + strings.Repeat("s", 900_000) + "}"), secure("login")},
		"Secret that is not there":        {secure("none")},
		"Secret of a name that none has":  {secure("../../kube-system/secrets/x")},
		"IngressClassParams":              classes,
		"IngressClassParams that is gone": {strings.Split(classNamed("half", "{}"), "---")[0], ingressInNamespace("team", "half", "half", "team.example.com", "group.ingress.k8s.aws/edge")},
	}
}

func teamPod(address string) string {
	pod, _, _ := strings.Cut(teamPodWithSlice(address, "", "", 80), "---")
	return pod
}

// TestHostileObjectsDoNotAffectOthers checks that malformed objects that the API server accepts cause no panic and few
// calls, and that another tenant's change still takes effect within a minute.
func TestHostileObjectsDoNotAffectOthers(t *testing.T) {
	t.Parallel()
	var names []string
	synctest.Test(t, func(t *testing.T) {
		for name := range hostileObjects(newShop(t)) {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				settleWithoutErrors(t, r)
				before := stateOfKinds(r, "load-balancer", "security-group", "web-acl")
				r.Emulator.Calls().Reset()
				r.Apply(hostileObjects(r)[name]...)
				for item, err := range r.Settle(time.Hour) {
					if strings.Contains(err.Error(), "panic") {
						t.Errorf("%s: %v", item, err)
					}
				}
				if n := r.Emulator.Calls().Total(); n > 400 {
					t.Errorf("%d calls in an hour: %v", n, r.Emulator.Calls().Counts())
				}
				same := slices.DeleteFunc(stateOfKinds(r, "load-balancer", "security-group", "web-acl"), func(l string) bool { return !slices.Contains(before, l) })
				if !strings.HasPrefix(name, "IngressClassParams") && !strings.HasPrefix(name, "Secret") && !slices.Equal(before, same) {
					t.Errorf("resources of the victims were changed:\nbefore %q\nstill %q", before, same)
				}
				r.Apply(strings.Replace(ingressInNamespace("shop", "a", "alb", "a.example.com", "", "group.name", "edge", "scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "wafv2-acl-name", "rig"), "path: /,", "path: /changed,", 1))
				r.Settle(time.Minute)
				if !hasRule(r.State(), "/changed") {
					t.Error("a victim's change is not applied")
				}
				for _, n := range []string{"a", "b"} {
					if w := warningsByObject(r)[n]; len(w) > 0 {
						t.Errorf("warnings on victim %s: %q", n, w)
					}
				}
			})
		})
	}
}

// TestForgedStatusIsIgnored checks that a status that a tenant forges on an Ingress or a TargetGroupBinding has no
// effect. The controller corrects the status of the Ingress.
func TestForgedStatusIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		r.Apply(teamPodWithSlice(podAddresses[4], "", "", 8080), ingressInNamespace("team", "forger", "alb", "team.example.com", "", "group.name", "edge"))
		settleWithoutErrors(t, r)
		state := r.State()
		shown := func(namespace, name string) string {
			obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: name})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(obj.(*networkingv1.Ingress).Status)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		honest := shown("team", "forger")
		forge := func(obj cluster.Object) {
			if _, err := r.Store.Update(obj, cluster.StatusPart); err != nil {
				t.Fatal(err)
			}
		}
		for _, hostname := range []string{"k8s-edge-0000000000.us-west-2.elb.amazonaws.com", "evil.example.com", ""} {
			obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "team", Name: "forger"})
			if err != nil {
				t.Fatal(err)
			}
			ing := obj.(*networkingv1.Ingress).DeepCopy()
			ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: hostname, IP: "10.0.132.10", Ports: []networkingv1.IngressPortStatus{{Port: 443}}}}
			forge(ing)
			settleWithoutErrors(t, r)
			expectEqual(t, "status after "+hostname, honest, shown("team", "forger"))
			expectEqual(t, "state", fmt.Sprint(state), fmt.Sprint(r.State()))
		}
		// A TargetGroupBinding with a forged observedGeneration in the future still gets the new pods as targets.
		own := bindingsOf(r, "team")[0].DeepCopy()
		own.Status.ObservedGeneration = new(int64(1 << 40))
		own.Status.Conditions = nil
		forge(own)
		live := bindingsOf(r, "team")[0].DeepCopy()
		live.Annotations = map[string]string{targets.CheckpointAnnotation: "forged"}
		if _, err := r.Store.Update(live, cluster.MainPart); err != nil {
			t.Fatal(err)
		}
		settleWithoutErrors(t, r)
		r.Apply(teamPodWithSlice(podAddresses[5], "", "", 8080))
		settleWithoutErrors(t, r)
		expectEqual(t, "targets", podAddresses[5], activeTargets(t, r, Account, own.Spec.TargetGroupARN))
		for _, b := range bindingsOf(r, "shop") {
			expectEqual(t, "targets of a victim", "10.0.132.10 10.0.148.10 10.0.164.10", activeTargets(t, r, Account, b.Spec.TargetGroupARN))
		}
	})
}
