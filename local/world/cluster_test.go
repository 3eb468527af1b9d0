package world_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fulcrum-lb/fulcrum/local/echo"
	"github.com/fulcrum-lb/fulcrum/local/loopback"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

const (
	// hangTimeout is how long a test waits for a condition. It is so long that only a hang exceeds it.
	hangTimeout = 2 * time.Minute
	// brief is the timeout of exchangeTwoDatagrams. A datagram may be lost, so callers repeat it.
	brief = 2 * time.Second
	// gracePeriod is the grace period of the pods of webManifest.
	gracePeriod = 3 * time.Second
)

const webManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 3
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers:
      - {name: web, image: "echo", ports: [{name: http, containerPort: 8080}, {name: dns, containerPort: 8053, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: Service
metadata: {name: web-local, namespace: default}
spec:
  type: NodePort
  externalTrafficPolicy: Local
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Service
metadata: {name: web-datagrams, namespace: default}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{name: dns, port: 53, targetPort: dns, protocol: UDP}]
`

// TestWorld starts one local world for several tests, because its start takes most of their time.
func TestWorld(t *testing.T) {
	programs := prebuiltPrograms(t)
	t.Setenv("KUBEBUILDER_ASSETS", programs)
	w := worldtest.Start(t, world.Options{Cluster: "shop"})
	t.Run("prebuilt programs are used", func(t *testing.T) { testPrebuiltProgramsAreUsed(t, w, programs) })
	t.Run("AWS agrees with the cluster", func(t *testing.T) { testAWSAgreesWithCluster(t, w) })
	t.Run("the cluster serves pods", func(t *testing.T) { testClusterServesPods(t, w) })
}

// testClusterServesPods checks the Kubernetes cluster of a local world: Deployments get pods with addresses in the VPC, pods
// respond at these addresses and through node ports, and readiness and deletion work as in a real cluster.
func testClusterServesPods(t *testing.T, w *world.World) {
	c := &clusterTest{t: t, w: w}
	c.apply(webManifest)
	pods := c.awaitRunningPods("app=web", 3)

	t.Run("a pod answers at its address, inside its node's subnet", func(t *testing.T) {
		for _, p := range pods {
			ip := netip.MustParseAddr(p.Status.PodIP)
			for _, n := range w.Layout().Nodes {
				if n.Name == p.Spec.NodeName && !w.Layout().PrivateSubnets[n.Subnet].CIDR.Contains(ip) {
					t.Errorf("pod %s has %s, outside of %s", p.Name, ip, w.Layout().PrivateSubnets[n.Subnet].CIDR)
				}
			}
			a, err := c.get(ip, 8080)
			if err != nil {
				t.Fatal(err)
			}
			if a.Pod != p.Name || a.Namespace != "default" || a.Service != "web" || a.App != "web" || a.Node != p.Spec.NodeName {
				t.Errorf("%s answers as %+v", p.Name, a.Identity)
			}
		}
	})

	t.Run("a node port reaches every ready pod from every node", func(t *testing.T) {
		port := c.nodePort("web")
		for _, n := range w.Layout().Nodes {
			c.awaitAnswersFrom(n.Address, port, podNames(pods))
		}
	})

	t.Run("a node port with local policy reaches pods of its node alone", func(t *testing.T) {
		port := c.nodePort("web-local")
		for _, n := range w.Layout().Nodes {
			var want []string
			for _, p := range pods {
				if p.Spec.NodeName == n.Name {
					want = append(want, p.Name)
				}
			}
			c.awaitAnswersFrom(n.Address, port, want)
		}
	})

	t.Run("a node port for datagrams reaches every ready pod, and a flow stays with one", func(t *testing.T) {
		at := loopback.HostPort(w.Layout().Nodes[0].Address, c.nodePort("web-datagrams"))
		answered := map[string]bool{}
		worldtest.Eventually(t, hangTimeout, func(context.Context) error {
			first, second, err := exchangeTwoDatagrams(at)
			if err != nil {
				return err
			}
			if first.Pod != second.Pod || first.Protocol != "UDP" || second.Body != "two" {
				t.Fatalf("one flow was answered by %+v and %+v", first, second)
			}
			answered[first.Pod] = true
			if len(answered) < len(pods) {
				return fmt.Errorf("only %v answered", answered)
			}
			return nil
		})
	})

	t.Run("a pod whose probes fail gets no traffic, and gets it back", func(t *testing.T) {
		victim := pods[0]
		others := podNames(pods[1:])
		c.annotate(victim.Name, "local.fulcrum/ready", "false")
		c.awaitAnswersFrom(w.Layout().Nodes[0].Address, c.nodePort("web"), others)
		c.annotate(victim.Name, "local.fulcrum/ready", "true")
		c.awaitAnswersFrom(w.Layout().Nodes[0].Address, c.nodePort("web"), podNames(pods))
	})

	t.Run("a deleted pod serves until its grace period is over", func(t *testing.T) {
		victim := pods[0]
		ip := netip.MustParseAddr(victim.Status.PodIP)
		began := time.Now()
		if err := w.KubeClient().CoreV1().Pods("default").Delete(t.Context(), victim.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for time.Since(began) < time.Second {
			if _, err := c.get(ip, 8080); err != nil && time.Since(began) < gracePeriod {
				t.Fatalf("after %s: %v", time.Since(began), err)
			}
		}
		worldtest.Eventually(t, hangTimeout, func(ctx context.Context) error {
			_, err := w.KubeClient().CoreV1().Pods("default").Get(ctx, victim.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("the pod still exists: %v", err)
		})
		if took := time.Since(began); took < gracePeriod-time.Second {
			t.Errorf("the pod was deleted after %s; its grace period is %s", took, gracePeriod)
		}
		if _, err := c.get(ip, 8080); err == nil {
			t.Error("a deleted pod responds")
		}
		c.awaitRunningPods("app=web", 3)
	})

	t.Run("a readiness gate holds a pod", func(t *testing.T) { checkReadinessGateHoldsPod(t, w) })

	t.Run("the version is readable", func(t *testing.T) { checkVersionIsReadable(t, w) })

	t.Run("killed roles come back and nothing is lost", func(t *testing.T) {
		before := c.awaitRunningPods("app=web", 3)
		for _, role := range []string{world.RoleAgent, world.RoleAPIServer, world.RoleKwok} {
			if err := w.Kill(role); err != nil {
				t.Fatal(err)
			}
			if err := w.StartRole(t.Context(), role); err != nil {
				t.Fatal(err)
			}
		}
		c.awaitAnswersFrom(w.Layout().Nodes[1].Address, c.nodePort("web"), podNames(before))
	})
}

// checkReadinessGateHoldsPod checks that a pod with a readiness gate is Ready only while the condition of the gate is True.
func checkReadinessGateHoldsPod(t *testing.T, w *world.World) {
	c := &clusterTest{t: t, w: w}
	c.apply(`
apiVersion: v1
kind: Pod
metadata: {name: gated, namespace: default, labels: {app: gated}}
spec:
  readinessGates: [{conditionType: example.com/gate}]
  containers: [{name: web, image: echo, ports: [{containerPort: 80}]}]
`)
	ready := func(want corev1.ConditionStatus, reason string) {
		t.Helper()
		worldtest.Eventually(t, hangTimeout, func(ctx context.Context) error {
			p, err := w.KubeClient().CoreV1().Pods("default").Get(ctx, "gated", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == want && c.Reason == reason {
					return nil
				}
			}
			return fmt.Errorf("conditions: %+v", p.Status.Conditions)
		})
	}
	gate := func(status corev1.ConditionStatus) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"example.com/gate","status":%q}]}}`, status)
		_, err := w.KubeClient().CoreV1().Pods("default").Patch(t.Context(), "gated", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
	}
	ready(corev1.ConditionFalse, "ReadinessGatesNotReady")
	gate(corev1.ConditionTrue)
	ready(corev1.ConditionTrue, "")
	gate(corev1.ConditionFalse)
	ready(corev1.ConditionFalse, "ReadinessGatesNotReady")
}

// clusterTest implements the steps and checks that the tests of a cluster share.
type clusterTest struct {
	t *testing.T
	w *world.World
}

func (c *clusterTest) apply(text string) {
	c.t.Helper()
	objects, err := manifest.Parse([]byte(text))
	if err != nil {
		c.t.Fatal(err)
	}
	a, err := manifest.NewApplier(c.w.RESTConfig())
	if err != nil {
		c.t.Fatal(err)
	}
	if err := a.Apply(c.t.Context(), objects); err != nil {
		c.t.Fatal(err)
	}
}

// awaitRunningPods waits until exactly n pods that match selector are ready, and returns them. Pods that are being deleted
// do not count.
func (c *clusterTest) awaitRunningPods(selector string, n int) []corev1.Pod {
	c.t.Helper()
	var out []corev1.Pod
	worldtest.Eventually(c.t, hangTimeout, func(ctx context.Context) error {
		list, err := c.w.KubeClient().CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		out = nil
		for _, p := range list.Items {
			if p.DeletionTimestamp != nil {
				continue
			}
			for _, cond := range p.Status.Conditions {
				if cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue {
					out = append(out, p)
				}
			}
		}
		if len(out) != n {
			return fmt.Errorf("%d of %d pods are ready", len(out), n)
		}
		return nil
	})
	return out
}

func (c *clusterTest) nodePort(service string) int {
	c.t.Helper()
	s, err := c.w.KubeClient().CoreV1().Services("default").Get(c.t.Context(), service, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return int(s.Spec.Ports[0].NodePort)
}

func (c *clusterTest) annotate(pod, key, value string) {
	c.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := c.w.KubeClient().CoreV1().Pods("default").Patch(c.t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

// get sends a request to an address in the VPC, over a new connection, and returns the answer of the pod.
func (c *clusterTest) get(addr netip.Addr, port int) (echo.Response, error) {
	client := &http.Client{Timeout: hangTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + loopback.HostPort(addr, port) + "/some/path")
	if err != nil {
		return echo.Response{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return echo.Response{}, err
	}
	var a echo.Response
	return a, json.Unmarshal(b, &a)
}

// awaitAnswersFrom waits until exactly the pods in want respond to 30 successive connections to an address in the VPC.
func (c *clusterTest) awaitAnswersFrom(addr netip.Addr, port int, want []string) {
	c.t.Helper()
	worldtest.Eventually(c.t, hangTimeout, func(context.Context) error {
		seen := map[string]bool{}
		for range 30 {
			a, err := c.get(addr, port)
			if err != nil {
				return err
			}
			seen[a.Pod] = true
		}
		if len(seen) != len(want) {
			return fmt.Errorf("reached %v, want %v", seen, want)
		}
		for _, name := range want {
			if !seen[name] {
				return fmt.Errorf("reached %v, want %v", seen, want)
			}
		}
		return nil
	})
}

func podNames(pods []corev1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

// checkVersionIsReadable checks that the version of the API server is a semantic version, which kubectl can parse, and that
// all nodes have the same version. kubectl cannot parse the version of a program that `go build` builds without flags.
func checkVersionIsReadable(t *testing.T, w *world.World) {
	got, err := w.KubeClient().Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := version.ParseSemantic(got.GitVersion); err != nil {
		t.Errorf("kubectl version fails: %v", err)
	}
	nodes, err := w.KubeClient().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if n.Status.NodeInfo.KubeletVersion != got.GitVersion {
			t.Errorf("node %s has version %s, the API server %s", n.Name, n.Status.NodeInfo.KubeletVersion, got.GitVersion)
		}
	}
}

// exchangeTwoDatagrams sends the datagrams "one" and "two" from one socket to a host:port, and returns both replies.
func exchangeTwoDatagrams(at string) (first, second echo.Response, err error) {
	conn, err := net.Dial("udp4", at)
	if err != nil {
		return first, second, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(brief))
	buf := make([]byte, 64<<10)
	for i, into := range []*echo.Response{&first, &second} {
		if _, err := io.WriteString(conn, []string{"one", "two"}[i]); err != nil {
			return first, second, err
		}
		n, err := conn.Read(buf)
		if err != nil {
			return first, second, err
		}
		if err := json.Unmarshal(buf[:n], into); err != nil {
			return first, second, err
		}
	}
	return first, second, nil
}
