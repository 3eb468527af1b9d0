package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const storefrontYAML = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: shop
  name: web
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/group.name: edge
    alb.ingress.kubernetes.io/waf-acl-id: classic
spec:
  ingressClassName: alb
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: nginx, annotations: {kubernetes.io/ingress.class: nginx}}
`

// TestMigrateFiles checks the exit codes, the written files and the reports of migrate for manifests in files.
func TestMigrateFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.yaml"), filepath.Join(dir, "out")
	write := func(text string) {
		if err := os.WriteFile(in, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	migrated := func(want int, says string, args ...string) string {
		t.Helper()
		code, stdout, stderr := run(t, append([]string{"migrate"}, args...)...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("fulcrum migrate %s: exit code %d, want %d and %q\n%s%s", strings.Join(args, " "), code, want, says, stdout, stderr)
		}
		return stdout
	}
	write(storefrontYAML)
	migrated(3, "would have no web ACL", "-f", in, "--output-dir", out)
	migrated(2, "would have no web ACL", "-f", in, "--check")
	write(strings.ReplaceAll(storefrontYAML, "    alb.ingress.kubernetes.io/waf-acl-id: classic\n", ""))
	text := migrated(0, "their answers and the settings are the same", "-f", in, "--output-dir", out)
	for _, says := range []string{"IngressGroup edge (shop/web)", "Ingress shop/nginx is served by another controller", `IngressClass "alb" is not among the manifests`, "gateway-resources.yaml: 5 objects"} {
		if !strings.Contains(text, says) {
			t.Errorf("the report lacks %q:\n%s", says, text)
		}
	}
	made, err := os.ReadFile(filepath.Join(out, "gateway-resources.yaml"))
	if err != nil || !strings.Contains(string(made), `gateway.k8s.aws/dry-run: "true"`) || !strings.Contains(string(made), "# From IngressGroup edge") {
		t.Errorf("%v\n%s", err, made)
	}
	migrated(0, "shop/gateway-resources.json", "-f", in, "--output-dir", out, "--split=namespace", "--output-format=json", "--dry-run=false")
	if made, err := os.ReadFile(filepath.Join(out, "shop", "gateway-resources.json")); err != nil || strings.Contains(string(made), "dry-run") {
		t.Errorf("%v\n%s", err, made)
	}
	if stream := migrated(0, "kind: HTTPRoute", "-f", in, "--output-dir=-"); !strings.HasPrefix(stream, "apiVersion:") {
		t.Errorf("the stream begins with %.80s", stream)
	}
	migrated(0, `"requests": `, "-f", in, "--check", "-o", "json")
	migrated(0, "| Ingress shop/web | alb.ingress.kubernetes.io/group.name | Gateway |", "-f", in, "--check", "-o", "markdown")
	write(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/conditions.web: '[{"field":"host-header","hostHeaderConfig":{"values":["www.*.example.com"]}}]'}
spec: {ingressClassName: alb, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}
`)
	migrated(2, "| port 80: listener | HTTP | none, because", "-f", in, "--check", "-o", "markdown")
	write(strings.ReplaceAll(storefrontYAML, "namespace: shop", "namespace: ../../shop"))
	migrated(1, "is not a valid name", "-f", in, "--output-dir", out, "--split=namespace")
	write(strings.Replace(storefrontYAML, "  annotations:\n", "  annotations:\n    external-dns.alpha.kubernetes.io/hostname: shop.example.com\n", 1))
	migrated(3, "annotations of other programs are not copied: external-dns.alpha.kubernetes.io/hostname", "-f", in, "--output-dir", out)
	write("apiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: web}\nspec: {ports: [{port: 80}]}\n")
	migrated(1, "no Ingress to translate", "-f", in)
}

const twoTLSIngressesYAML = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: web, annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/group.name: edge}}
spec:
  ingressClassName: alb
  tls: [{hosts: [shop.example.com], secretName: web-tls}]
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: blog, name: blog, annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/group.name: edge}}
spec:
  ingressClassName: alb
  tls: [{hosts: [blog.example.com], secretName: blog-tls}]
  rules:
  - host: blog.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: blog, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: blog, name: blog}
spec: {ports: [{port: 80}]}
`

// tlsSecretYAML is a TLS Secret of twoTLSIngressesYAML. Its key is "-----BEGIN PRIVATE KEY-----" and a line break.
const tlsSecretYAML = `apiVersion: v1
kind: Secret
metadata: {namespace: shop, name: web-tls}
type: kubernetes.io/tls
data: {tls.crt: eA==, tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==}
`

// TestMigrateNamesTLSSecrets checks that the listeners of the translated Gateway name the TLS Secrets of the Ingresses, and
// that migrate does not print their keys. A ReferenceGrant allows the Gateway to use a Secret in another namespace.
func TestMigrateNamesTLSSecrets(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(in, []byte(twoTLSIngressesYAML+"---\n"+tlsSecretYAML), 0o644); err != nil {
		t.Fatal(err)
	}
	code, made, report := run(t, "migrate", "-f", in, "--output-dir=-", "--import-tls-secrets=ingress,gateway")
	for _, want := range []string{"kind: ReferenceGrant", "name: web-tls", "name: blog-tls", "kind: Secret"} {
		if !strings.Contains(made, want) {
			t.Errorf("the manifests lack %q", want)
		}
	}
	if code != 0 || strings.Contains(made+report, "PRIVATE KEY") || strings.Contains(made+report, "LS0tLS1CRUdJTi") {
		t.Errorf("exit code %d\n%s%s", code, report, made)
	}
	odd := strings.Replace(twoTLSIngressesYAML, "hosts: [blog.example.com]", "hosts: [blög.example.com]", 1) // not a certificate host
	if err := os.WriteFile(in, []byte(odd), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, made, report := run(t, "migrate", "-f", in, "--output-dir=-", "--import-tls-secrets=ingress,gateway"); code == 1 || !strings.Contains(made, "name: web-tls") {
		t.Errorf("with an invalid host: exit code %d\n%s%s", code, made, report)
	}
	if code, report, _ := run(t, "migrate", "-f", in, "--check", "--import-tls-secrets=ingress"); code != 2 || !strings.Contains(report, "add gateway to --import-tls-secrets") {
		t.Errorf("without the import for Gateways: exit code %d\n%s", code, report)
	}
}

// TestSplitManifestsAreComplete checks that --split=namespace writes all objects, one file for each namespace. A ReferenceGrant
// is applied before the objects of all namespaces, but it is in the file of its own namespace.
func TestSplitManifestsAreComplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.yaml"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(twoTLSIngressesYAML), 0o644); err != nil {
		t.Fatal(err)
	}
	code, report, stderr := run(t, "migrate", "-f", in, "--output-dir", out, "--split=namespace", "--import-tls-secrets=ingress,gateway")
	if code != 0 || strings.Count(report, "shop/gateway-resources.yaml") != 1 {
		t.Errorf("exit code %d\n%s%s", code, report, stderr)
	}
	made, err := os.ReadFile(filepath.Join(out, "shop", "gateway-resources.yaml"))
	grant, route := strings.Index(string(made), "kind: ReferenceGrant"), strings.Index(string(made), "kind: HTTPRoute")
	if err != nil || grant < 0 || route < grant {
		t.Errorf("the manifests of namespace shop lack the ReferenceGrant, or it is not before the HTTPRoute: %v\n%s", err, made)
	}
}

// TestMigrateRefusesFlags checks that migrate refuses each wrong flag or combination of flags with its own error message,
// and prints no manifests.
func TestMigrateRefusesFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, says string }{
		{"", "give manifests with --filename, or --from-cluster"},
		{"-f a.yaml --from-cluster", "--from-cluster reads no files"},
		{"-f a.yaml --namespaces=a", "--namespaces is valid only with --from-cluster"},
		{"-f a.yaml --all-namespaces", "--all-namespaces is valid only with --from-cluster"},
		{"-f a.yaml --ingress-name=a", "--ingress-name is valid only with --from-cluster"},
		{"-f a.yaml --kubeconfig=a", "--kubeconfig is valid only with --from-cluster"},
		{"--from-cluster --namespaces=a -A", "exclude each other"},
		{"--from-cluster --namespaces=a --ingress-name=a,b", "takes one name"},
		{"--from-cluster -A --ingress-name=a", "exclude each other"},
		{"--from-cluster --namespaces=a,b --ingress-name=a", "needs the one namespace"},
		{"-f a.yaml --output-format=xml", "neither yaml nor json"},
		{"-f a.yaml --split=kind", "--split \"kind\" is not supported; use --split=namespace"},
	} {
		code, stdout, stderr := run(t, append([]string{"migrate"}, strings.Fields(tt.args)...)...)
		if code != 1 || !strings.Contains(stderr, tt.says) || stdout != "" {
			t.Errorf("migrate %s: exit code %d, %s%s", tt.args, code, stdout, stderr)
		}
	}
}

// TestMigrateNotesConfiguredServices checks that the report has a note about an existing TargetGroupConfiguration for the
// IngressGroup that forwards to its Service, and for no other IngressGroup of the namespace.
func TestMigrateNotesConfiguredServices(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in.yaml")
	web := strings.ReplaceAll(strings.Split(storefrontYAML, "---\napiVersion: networking")[0], "    alb.ingress.kubernetes.io/waf-acl-id: classic\n", "")
	api := strings.NewReplacer("name: web", "name: api", "group.name: edge", "group.name: inner", "shop.example.com", "api.example.com").Replace(web)
	configuration := `---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: shop, name: older}
spec: {targetReference: {name: web}}
`
	if err := os.WriteFile(in, []byte(web+"---\n"+api+configuration), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "migrate", "-f", in, "--check", "-o", "json")
	var report struct {
		Groups []struct {
			ID    string `json:"id"`
			Notes []struct{ Severity, Object, Message string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 2 || len(report.Groups) != 2 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	for _, g := range report.Groups {
		var about []string
		for _, n := range g.Notes {
			if n.Severity == "lost" {
				about = append(about, n.Object+": "+n.Message)
			}
		}
		noted := len(about) == 1 && strings.HasPrefix(about[0], `Service shop/web: TargetGroupConfiguration "older"`)
		if want := g.ID == "edge"; noted != want || !want && len(about) > 0 {
			t.Errorf("IngressGroup %s has lost %q", g.ID, about)
		}
	}
}
