package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"

	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

const webhookObjects = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {elbv2.k8s.aws/pod-readiness-gate-inject: enabled}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/healthcheck-interval-seconds: "5", alb.ingress.kubernetes.io/healthcheck-timeout-seconds: "2"}
spec:
  ingressClassName: alb
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`

// refusedBySchema contains objects that the schemas of the CRDs reject, without webhooks. The key describes the object, and
// want is a part of the error.
var refusedBySchema = map[string]struct{ docs, want string }{
	"both spellings of prefix lists": {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {prefixListsIDs: [pl-1], PrefixListsIDs: [pl-1]}}`, "prefixListsIDs and PrefixListsIDs"},
	"both spellings, one empty":      {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {prefixListsIDs: [pl-1], PrefixListsIDs: []}}`, "prefixListsIDs and PrefixListsIDs"},
	"an IngressGroup without a name": {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {group: {}}}`, "spec.group.name"},
	"an unknown scheme":              {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {scheme: sideways}}`, "spec.scheme"},
	"no subnets":                     {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {subnets: {ids: []}}}`, "spec.subnets.ids"},
	"an invalid subnet ID":           {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {subnets: {ids: [public]}}}`, "spec.subnets.ids[0]"},
	"a capacity without units":       {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {minimumLoadBalancerCapacity: {}}}`, "capacityUnits"},
	"a binding without a Service":    {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: TargetGroupBinding, metadata: {name: bad, namespace: shop}, spec: {targetGroupARN: arn}}`, "spec.serviceRef"},
	"a rule without ports":           {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: TargetGroupBinding, metadata: {name: bad, namespace: shop}, spec: {targetGroupARN: arn, serviceRef: {name: web, port: 80}, networking: {ingress: [{from: []}]}}}`, "ports"},
	"too much concurrency":           {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: ALBTargetControlConfig, metadata: {name: bad, namespace: shop}, spec: {image: i, dataAddress: "a:1", controlAddress: "a:2", destinationAddress: "a:3", maxConcurrency: 1001}}`, "spec.maxConcurrency"},
	"an address without a port":      {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: ALBTargetControlConfig, metadata: {name: bad, namespace: shop}, spec: {image: i, dataAddress: a, controlAddress: "a:2", destinationAddress: "a:3"}}`, "spec.dataAddress"},
}

// acceleratorDoc returns the YAML of GlobalAccelerator "shop/bad" with the fields of spec.
func acceleratorDoc(spec string) string {
	return `{apiVersion: aga.k8s.aws/v1beta1, kind: GlobalAccelerator, metadata: {name: bad, namespace: shop}, spec: {` + spec + `}}`
}

// refusedAccelerators returns GlobalAccelerators that the schema of the CRD rejects, in the form of refusedBySchema.
func refusedAccelerators() map[string]struct{ docs, want string } {
	out := map[string]struct{ docs, want string }{}
	listener := func(l string) string { return "listeners: [{" + l + "}]" }
	endpoint := func(e string) string { return listener("endpointGroups: [{endpoints: [{" + e + "}]}]") }
	for spec, want := range map[string]string{
		`name: "a b"`:                                                            "spec.name",
		`ipAddresses: []`:                                                        "spec.ipAddresses",
		`ipAddressType: IPV6`:                                                    "spec.ipAddressType",
		listener("protocol: TLS"):                                                "spec.listeners[0].protocol",
		listener("portRanges: []"):                                               "spec.listeners[0].portRanges",
		listener("clientAffinity: SOME"):                                         "clientAffinity",
		listener("portRanges: [{fromPort: 0, toPort: 1}]"):                       "fromPort",
		listener("portRanges: [{fromPort: 2}]"):                                  "toPort",
		listener("portRanges: [{fromPort: 2, toPort: 1}]"):                       "fromPort must not be greater than toPort",
		listener("endpointGroups: [{trafficDialPercentage: 101}]"):               "trafficDialPercentage",
		listener("endpointGroups: [{portOverrides: [{listenerPort: 1}]}]"):       "endpointPort",
		listener("endpointGroups: [{region: " + strings.Repeat("a", 256) + "}]"): "region",
		endpoint("name: web"):                                                    "type",
		endpoint("type: Pod, name: web"):                                         "type",
		endpoint("type: Service"):                                                "type EndpointID needs endpointID and no name",
		endpoint("type: Service, endpointID: i-1, name: a"):                      "every other type needs name and no endpointID",
		endpoint("type: EndpointID"):                                             "type EndpointID needs endpointID and no name",
		endpoint("type: EndpointID, endpointID: i-1, name: web"):                 "type EndpointID needs endpointID and no name",
		endpoint("type: Service, name: web, weight: 256"):                        "weight",
	} {
		out["an accelerator with "+spec] = struct{ docs, want string }{acceleratorDoc(spec), want}
	}
	return out
}

// checkAcceleratorDefaults checks which defaults the API server sets in a GlobalAccelerator. It uses a dry run.
func checkAcceleratorDefaults(t *testing.T, w *world.World) {
	t.Helper()
	client, err := dynamic.NewForConfig(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse([]byte(acceleratorDoc(`listeners: [{endpointGroups: [{endpoints: [{type: Service, name: web, namespace: ""}]}]}]`)))
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.Resource(schema.GroupVersionResource{Group: "aga.k8s.aws", Version: "v1beta1", Resource: "globalaccelerators"}).Namespace("shop").
		Create(t.Context(), objects[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"ipAddressType": "IPV4", "listeners": []any{map[string]any{"clientAffinity": "NONE", "endpointGroups": []any{map[string]any{
		"trafficDialPercentage": int64(100), "endpoints": []any{map[string]any{"type": "Service", "name": "web", "namespace": "", "weight": int64(128), "clientIPPreservationEnabled": true}},
	}}}}}
	if got := made.Object["spec"]; !reflect.DeepEqual(got, want) {
		t.Errorf("the defaults are %v", got)
	}
}

// testAdmission checks that the schemas of the CRDs reject invalid objects, and that a real API server calls the webhooks of
// config/webhook. It also checks which changes the API server accepts while no webhook responds.
func testAdmission(t *testing.T, w *world.World) {
	args, err := w.WebhookArgs()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.StartController(worldtest.ControllerPath(t), append(args, "--feature-gates=GlobalAcceleratorController=true")...); err != nil {
		t.Fatal(err)
	}
	if err := w.AwaitControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	apply := func(docs string) error {
		t.Helper()
		objects, err := manifest.Parse([]byte(docs))
		if err != nil {
			t.Fatal(err)
		}
		return applier.Apply(t.Context(), objects)
	}
	if err := apply(webhookObjects); err != nil {
		t.Fatal(err)
	}
	for what, c := range refusedBySchema {
		if err := apply(c.docs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a refusal with %q", what, err, c.want)
		}
	}
	for what, c := range refusedAccelerators() {
		if err := apply(c.docs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a refusal with %q", what, err, c.want)
		}
	}
	checkAcceleratorDefaults(t, w)
	if err := w.InstallWebhooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	ingress := func(annotations string) string {
		return `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: other, namespace: shop, annotations: {` + annotations + `}},
			spec: {ingressClassName: alb, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}`
	}
	// The API server uses new webhook configurations after about a second.
	bad := `{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {subnets: {}}}`
	eventually(t, "class parameters are denied", func() error {
		return checkDenied(apply(bad), "spec.subnets: Required value")
	})
	for what, c := range map[string]struct{ docs, want string }{
		"conditions":          {ingress(`alb.ingress.kubernetes.io/conditions.web: nonsense`), "conditions.web"},
		"no ARN":              {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: TargetGroupBinding, metadata: {name: a, namespace: shop}, spec: {serviceRef: {name: web, port: 80}}}`, "targetGroupARN or targetGroupName"},
		"an endpoint twice":   {acceleratorDoc(`listeners: [{endpointGroups: [{endpoints: [{type: Service, name: web}, {type: Service, name: web, namespace: shop}]}]}]`), "Service/shop/web"},
		"overlapping ports":   {acceleratorDoc(`listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 443}]}, {protocol: TCP, portRanges: [{fromPort: 443, toPort: 500}]}]`), "overlap"},
		"a selector for pods": {`{apiVersion: elbv2.k8s.aws/v1beta1, kind: TargetGroupBinding, metadata: {name: a, namespace: shop}, spec: {targetGroupName: other, targetType: ip, nodeSelector: {}, serviceRef: {name: web, port: 80}}}`, "nodeSelector"},
	} {
		if err := checkDenied(apply(c.docs), c.want); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// The webhooks accept only the client certificate of the API server.
	anyone := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute}
	if answer, err := anyone.Post(fmt.Sprintf("https://127.0.0.1:%d/validate-networking-v1-ingress", w.WebhookPort()), "application/json", strings.NewReader("{}")); err == nil {
		_ = answer.Body.Close()
		t.Errorf("a caller without a client certificate gets the response %s", answer.Status)
	} else if !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("unexpected error for a caller without a client certificate: %v", err)
	}
	pods := w.KubeClient().CoreV1().Pods("shop")
	pod := func(name string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "echo"}}}}
		return p
	}
	n := 0
	eventually(t, "pods wait for the target group", func() error {
		n++
		made, err := pods.Create(t.Context(), pod("web-"+strconv.Itoa(n)), metav1.CreateOptions{})
		if err == nil && (len(made.Spec.ReadinessGates) != 1 || !strings.HasPrefix(string(made.Spec.ReadinessGates[0].ConditionType), "target-health.elbv2.k8s.aws/k8s-shop-web-")) {
			err = fmt.Errorf("the readiness gates are %v", made.Spec.ReadinessGates)
		}
		return err
	})
	eventually(t, "the target is healthy and the pod ready", func() error {
		p, err := pods.Get(t.Context(), "web-"+strconv.Itoa(n), metav1.GetOptions{})
		if err != nil {
			return err
		}
		states := map[corev1.PodConditionType]corev1.ConditionStatus{}
		for _, c := range p.Status.Conditions {
			states[c.Type] = c.Status
		}
		if states[p.Spec.ReadinessGates[0].ConditionType] != corev1.ConditionTrue || states[corev1.PodReady] != corev1.ConditionTrue {
			return fmt.Errorf("the conditions are %v", p.Status.Conditions)
		}
		return nil
	})

	if err := w.KillController(); err != nil {
		t.Fatal(err)
	}
	ingresses := w.KubeClient().NetworkingV1().Ingresses("shop")
	patch := func(data string) error {
		_, err := ingresses.Patch(t.Context(), "web", types.MergePatchType, []byte(data), metav1.PatchOptions{})
		return err
	}
	if err := patch(`{"metadata":{"annotations":{"alb.ingress.kubernetes.io/scheme":"internal"}}}`); err == nil {
		t.Error("an Ingress is changed although no webhook could validate it")
	}
	if err := patch(`{"metadata":{"labels":{"a":"b"}}}`); err != nil {
		t.Errorf("a label cannot be set while no webhook responds: %v", err)
	}
	if _, err := pods.Create(t.Context(), pod("last"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a pod cannot be created while no webhook responds: %v", err)
	}
	if err := ingresses.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := patch(`{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("the finalizer of an Ingress cannot be removed while no webhook responds: %v", err)
	}
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	worldtest.Eventually(t, defaultWaitLimit, func(context.Context) error {
		if err := try(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

func checkDenied(err error, want string) error {
	if err == nil || !strings.Contains(err.Error(), "denied the request") || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("got %v, want a denial with %q", err, want)
	}
	return nil
}

// useLocalWebhooks changes a webhook configuration: the API server calls the webhooks on a port of 127.0.0.1 instead of
// through a Service, and trusts ca (PEM). It does not change other objects.
func useLocalWebhooks(t *testing.T, u *unstructured.Unstructured, port int, ca []byte) {
	t.Helper()
	list, found, err := unstructured.NestedSlice(u.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return
	}
	for _, item := range list {
		hook := item.(map[string]any)
		path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
		if err != nil {
			t.Fatal(err)
		}
		hook["clientConfig"] = map[string]any{
			"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, path), "caBundle": base64.StdEncoding.EncodeToString(ca),
		}
	}
	if err := unstructured.SetNestedSlice(u.Object, list, "webhooks"); err != nil {
		t.Fatal(err)
	}
}

// writeLocalhostCertificate writes a self-signed certificate for 127.0.0.1 and its key to dir, as tls.crt and tls.key. It
// returns the certificate as PEM.
func writeLocalhostCertificate(t *testing.T, dir string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "webhooks"}, IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert
}
