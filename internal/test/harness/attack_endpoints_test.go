package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// The tests in this file cover attacks by a tenant with Pods and EndpointSlices in the tenant's namespace.

// teamPodWithSlice returns Pod "team/own-0" and an EndpointSlice of Service "team/web" that lists the pod with the
// given ports.
func teamPodWithSlice(address, meta, spec string, ports ...int) string {
	var list []string
	for _, p := range ports {
		list = append(list, fmt.Sprintf("{name: \"\", port: %d}", p))
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: own-0, namespace: team, uid: own-0, labels: {app: web}%[2]s}
spec: {nodeName: node-0, containers: [{name: c, ports: [{containerPort: 8080}]}]%[3]s}
status: {phase: Running, podIP: %[1]s, podIPs: [{ip: %[1]s}], conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: team, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [%[4]s]
endpoints: [{addresses: [%[1]s], nodeName: node-1, conditions: {ready: true}, targetRef: {kind: Pod, namespace: team, name: own-0, uid: own-0}}]
`, address, meta, spec, strings.Join(list, ", "))
}

// TestForgedPodENIOpensNothing checks that a pod cannot open the security group of another ENI by naming that ENI in
// the annotation vpc.amazonaws.com/pod-eni. The rules for the pod go to the ENI that has the pod's address.
func TestForgedPodENIOpensNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		api := ec2.NewFromConfig(AWSConfig(r.Emulator))
		database, err := api.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{SubnetId: &r.Seeded.Private[0], Groups: []string{r.Seeded.ExtraSG}})
		if err != nil {
			t.Fatal(err)
		}
		id := aws.ToString(database.NetworkInterface.NetworkInterfaceId)
		note := fmt.Sprintf(`, annotations: {vpc.amazonaws.com/pod-eni: '[{"eniId":"%s","privateIp":"%s"}]'}`, id, podAddresses[3])
		r.Apply(teamPodWithSlice(podAddresses[3], note, "", 9999))
		r.Apply(ingressInNamespace("team", "opener", "alb", "team.example.com", "", "group.name", "edge"), `
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: opener, namespace: team}
spec:
  targetGroupARN: `+r.Seeded.TargetGroups["external"]+`
  targetType: ip
  serviceRef: {name: web, port: 80}
  networking: {ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}], ports: [{protocol: TCP}]}]}
`)
		r.Settle(attackSettleTime)
		for _, l := range stateOfKinds(r, "security-group") {
			if strings.Contains(l, `"extra"`) && strings.Contains(l, "tcp") {
				t.Errorf("the security group of another ENI is open: %s", l)
			}
		}
		// The pod is registered, and its rules are removed with its TargetGroupBinding.
		expectEqual(t, "targets", podAddresses[3], activeTargets(t, r, Account, r.Seeded.TargetGroups["external"]))
		r.deleteObject(cluster.KindBinding, "team", "opener")
		deleteIngress(t, r, "team", "opener")
		r.Settle(attackSettleTime)
		for _, l := range stateOfKinds(r, "security-group") {
			if strings.Contains(l, "0.0.0.0/0") {
				t.Errorf("rules of the deleted TargetGroupBinding are left: %s", l)
			}
		}
	})
}

// TestImitatedPodTakesNothing checks a pod that has the labels, node name and readiness gate of another tenant's pods.
// It does not become a target of that tenant, the state in AWS does not change, and the pod does not wait for the
// readiness gate.
func TestImitatedPodTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		binding := bindingsOf(r, "shop")[0]
		gate := "target-health.elbv2.k8s.aws/" + binding.Name
		before := r.State()
		for _, spec := range []string{
			", readinessGates: [{conditionType: " + gate + "}]",
			", readinessGates: [{conditionType: " + gate + "}], hostNetwork: true",
		} {
			r.Apply(teamPodWithSlice(podAddresses[4], ", annotations: {elbv2.k8s.aws/checkpoint: forged}", spec, 8080))
			r.Settle(attackSettleTime)
			expectEqual(t, "targets", "10.0.132.10 10.0.148.10 10.0.164.10", r.allActiveTargets())
			expectEqual(t, "targets of the binding", "10.0.132.10 10.0.148.10 10.0.164.10", activeTargets(t, r, Account, binding.Spec.TargetGroupARN))
		}
		expectEqual(t, "state", fmt.Sprint(before), fmt.Sprint(r.State()))
		obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "team", Name: "own-0"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range obj.(*corev1.Pod).Status.Conditions {
			if string(c.Type) == gate && c.Status != corev1.ConditionTrue {
				t.Errorf("the pod waits for the readiness gate of another tenant: %+v", c)
			}
		}
	})
}

// TestHostNetworkPodTakesNoAddress checks that a pod with host network does not deregister the targets of another such
// pod on its node, although both have the same address.
func TestHostNetworkPodTakesNoAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		node := r.Seeded.Instances[0].Address
		shared := strings.Replace(readyPods("web", node), "spec: {nodeName", "spec: {hostNetwork: true, nodeName", 1)
		r.Apply(shop, teamShop, shared, webIngress("", "/=web"))
		settleWithoutErrors(t, r)
		expectEqual(t, "targets of the victim", node, r.allActiveTargets())
		time.Sleep(time.Minute)
		r.Apply(teamPodWithSlice(node, "", ", hostNetwork: true", 10250), ingressInNamespace("team", "neighbour", "alb", "team.example.com", ""))
		r.Settle(attackSettleTime)
		for _, b := range bindingsOf(r, "shop") {
			expectEqual(t, "targets of the victim beside another pod on the node", node, activeTargets(t, r, Account, b.Spec.TargetGroupARN))
			if w := warningsByObject(r)[b.Name]; len(w) > 0 {
				t.Errorf("warnings on the victim's binding: %q", w)
			}
		}
	})
}

// TestManyTargetsDelayNoOtherTenant checks that an EndpointSlice with 1300 ports of one pod causes few calls and does
// not delay the registration of a replaced pod of another tenant.
func TestManyTargetsDelayNoOtherTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		var ports []int
		for n := range 1300 {
			ports = append(ports, 10000+n)
		}
		r.Emulator.Calls().Reset()
		r.Apply(teamPodWithSlice(podAddresses[4], "", "", ports...), ingressInNamespace("team", "flood", "alb", "team.example.com", "", "group.name", "edge"))
		r.Settle(time.Minute)
		r.Apply(readyPods("web", podAddresses[0], podAddresses[1], podAddresses[5]))
		r.deleteObject(cluster.KindPod, "shop", "web-2")
		r.Apply(readyPods("web", podAddresses[0], podAddresses[1], podAddresses[5]))
		r.Settle(maxDeregistrationDelay)
		for _, b := range bindingsOf(r, "shop") {
			expectEqual(t, "targets of a victim", "10.0.132.10 10.0.148.10 10.0.164.11", activeTargets(t, r, Account, b.Spec.TargetGroupARN))
		}
		r.Settle(attackSettleTime)
		if n := r.Emulator.Calls().Counts()["elasticloadbalancing:RegisterTargets"]; n > 100 {
			t.Errorf("%d calls register targets", n)
		}
		for _, n := range []string{"a", "b"} {
			if w := warningsByObject(r)[n]; len(w) > 0 {
				t.Errorf("warnings on victim %s: %q", n, w)
			}
		}
	})
}
