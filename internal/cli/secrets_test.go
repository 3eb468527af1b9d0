package cli

import (
	"slices"
	"strings"
	"testing"
)

const oidcIngressYAML = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTPS":443}]'
    alb.ingress.kubernetes.io/auth-type: oidc
    alb.ingress.kubernetes.io/auth-idp-oidc: '{"issuer":"https://id.example.com","authorizationEndpoint":"https://id.example.com/a","tokenEndpoint":"https://id.example.com/t","userInfoEndpoint":"https://id.example.com/u","secretName":"sign-in"}'
spec:
  ingressClassName: alb
  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`

const oidcSecretYAML = `apiVersion: v1
kind: Secret
metadata: {name: sign-in, namespace: shop}
data: {clientID: c2hvcA==, clientSecret: aHVzaC1odXNo}
`

// TestPlanReadsOnlyNamedSecrets checks that plan reads a Secret that an Ingress names, does not
// list the Secrets of the cluster, and does not print secret values. It does not report a Secret that it could not read as
// missing.
func TestPlanReadsOnlyNamedSecrets(t *testing.T) {
	const missing, unavailable = "does not exist", "was not read"
	objects := strings.Join([]string{classYAML, serviceYAML, oidcIngressYAML}, "---\n")
	for name, c := range map[string]struct {
		secret, denied, filesOnly bool
		want, not                 []string
	}{
		"it exists":            {secret: true, not: []string{missing, unavailable}},
		"it does not exist":    {want: []string{"SecretNotFound", missing}, not: []string{unavailable}},
		"it may not be read":   {secret: true, denied: true, want: []string{`Secret "shop/sign-in" was not read`, "secrets is forbidden"}, not: []string{"SecretNotFound", missing}},
		"no cluster is read":   {filesOnly: true, want: []string{unavailable, "no cluster is read"}, not: []string{"SecretNotFound", missing}},
		"the files contain it": {filesOnly: true, secret: true, not: []string{missing, unavailable}},
	} {
		t.Run(name, func(t *testing.T) {
			_, flags := startEmulator(t)
			text := objects
			if c.secret {
				text += "---\n" + oidcSecretYAML
			}
			args := slices.Concat([]string{"plan", "--all"}, flags)
			var server *apiServer
			if c.filesOnly {
				args = slices.Concat([]string{"plan", "--files-only", "-f", "-"}, flags)
			} else {
				var config string
				server, config = serveCluster(t, text)
				server.forbiddenResources = map[string]bool{"secrets": c.denied}
				args = append(args, "--kubeconfig", config)
			}
			code, out, stderr := runWithInput(t, text, nil, args...)
			if code == 1 {
				t.Fatalf("exit %d: %s%s", code, out, stderr)
			}
			for _, part := range c.want {
				if !strings.Contains(out, part) {
					t.Errorf("want %q in\n%s", part, out)
				}
			}
			for _, part := range append(c.not, "hush-hush", "aHVzaC1odXNo") {
				if strings.Contains(out+stderr, part) {
					t.Errorf("want no %q in\n%s%s", part, out, stderr)
				}
			}
			if server != nil {
				for path := range server.reads {
					if strings.HasSuffix(path, "/secrets") {
						t.Errorf("Secrets were listed: %s", path)
					}
				}
			}
		})
	}
}
