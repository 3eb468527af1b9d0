package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

const oidcObjects = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Secret
metadata: {name: oidc, namespace: default}
stringData: {clientID: id, clientSecret: word}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: default
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTPS":443}]'
    alb.ingress.kubernetes.io/auth-type: oidc
    alb.ingress.kubernetes.io/auth-idp-oidc: '{"issuer":"https://id.example.com","authorizationEndpoint":"https://id.example.com/a","tokenEndpoint":"https://id.example.com/t","userInfoEndpoint":"https://id.example.com/u","secretName":"oidc"}'
spec:
  ingressClassName: alb
  rules:
  - host: web.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

// readOneSecretRole allows the controller to read Secret "oidc" of oidcObjects.
const readOneSecretRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: fulcrum-oidc, namespace: default}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [oidc], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fulcrum-oidc, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: fulcrum-oidc}
subjects: [{kind: ServiceAccount, name: fulcrum, namespace: kube-system}]
`

// TestRBACRolesAreSufficient checks that the roles in config/rbac are sufficient for the lease, the checkpoints and an
// Ingress. It also checks that a Role for a single Secret takes effect while the controller runs, and that the
// controller releases its lease when it stops.
func TestRBACRolesAreSufficient(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldPool.AcquireForTest(t, world.Options{})
	start := func() {
		t.Helper()
		if err := w.StartController(worldtest.ControllerPath(t), "--enable-leader-election=true", "--leader-election-namespace=kube-system"); err != nil {
			t.Fatal(err)
		}
		if err := w.AwaitControllerReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	start()
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	apply := func(docs string) {
		t.Helper()
		objects, err := manifest.Parse([]byte(docs))
		if err != nil {
			t.Fatal(err)
		}
		if err := applier.Apply(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
	}
	reported := func(what string) func(context.Context) error {
		return func(ctx context.Context) error {
			events, err := w.KubeClient().CoreV1().Events("default").List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, e := range events.Items {
				if strings.Contains(e.Reason+" "+e.Message, what) && e.InvolvedObject.Kind == "Ingress" {
					return nil
				}
			}
			return fmt.Errorf("no event of the Ingress contains %s; the namespace has %d events", what, len(events.Items))
		}
	}
	apply(oidcObjects)
	worldtest.Eventually(t, defaultWaitLimit, reported("SecretNotFound"))
	apply(readOneSecretRole)
	worldtest.Eventually(t, defaultWaitLimit, reported("SuccessfullyReconciled"))

	leases := w.KubeClient().CoordinationV1().Leases("kube-system")
	holder := func() string {
		t.Helper()
		l, err := leases.Get(t.Context(), "aws-load-balancer-controller-leader", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	}
	if holder() == "" {
		t.Error("the lease has no holder")
	}
	if err := w.StopController(); err != nil {
		t.Fatal(err)
	}
	if h := holder(); h != "" {
		t.Errorf("the lease is still held by %s", h)
	}
	if _, err := w.KubeClient().CoreV1().Secrets("kube-system").Get(t.Context(), "fulcrum-checkpoints", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(w.LogPath(world.RoleController))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(log), "\n") {
		// Before readOneSecretRole is applied, the controller may not read the Secret, and logs that.
		if strings.Contains(line, "forbidden") && !strings.Contains(line, "not allowed to read secret") {
			t.Error(line)
		}
	}

	start()
	objects, err := manifest.Parse([]byte(oidcObjects))
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Delete(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
}
