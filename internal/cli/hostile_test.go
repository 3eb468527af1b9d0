package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestManifestsCannotSendControlCharactersToTerminal checks that commands do not print control characters from a manifest,
// except line feeds.
func TestManifestsCannotSendControlCharactersToTerminal(t *testing.T) {
	_, flags := startEmulator(t)
	bad := `"x\e[2J\e]0;owned\a\r\u009b31m"`
	whole := strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n")
	objects := map[string]string{
		"unknown kind":      "apiVersion: v1\nkind: " + bad + "\nmetadata: {name: a}\n",
		"unknown version":   "apiVersion: " + bad + "\nkind: Ingress\nmetadata: {name: a}\n",
		"name of a skipped": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + bad + "}\n",
		"name":              "apiVersion: v1\nkind: Service\nmetadata: {name: " + bad + ", namespace: shop}\nspec: {type: NodePort, ports: [{port: 80}]}\n",
		"name twice":        strings.Repeat("apiVersion: v1\nkind: Service\nmetadata: {name: "+bad+", namespace: shop}\n---\n", 2),
		"name of an ingress": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + bad + ", namespace: shop}\nspec: {ingressClassName: alb, rules: [{host: " + bad +
			", http: {paths: [{path: " + bad + ", pathType: Prefix, backend: {service: {name: " + bad + ", port: {number: 80}}}}]}}]}\n",
		"annotations": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: other, namespace: shop, annotations: {alb.ingress.kubernetes.io/scheme: " + bad +
			", alb.ingress.kubernetes.io/group.name: " + bad + ", alb.ingress.kubernetes.io/tags: " + bad + "}}\nspec: {ingressClassName: alb, defaultBackend: {service: {name: web, port: {name: " + bad + "}}}}\n",
		"class":         "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: other, namespace: shop}\nspec: {ingressClassName: " + bad + "}\n",
		"unknown field": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {" + bad + ": 1}\n",
		"wrong type":    "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: " + bad + "}\n",
		"no YAML":       "a: \x1b[31m\n b: [\n",
	}
	for name, text := range objects {
		for _, command := range [][]string{{"plan"}, {"tree"}, {"tree", "-o=dot"}, {"plan", "-o=json"}, {"plan", "-o=yaml"}, {"explain", "ingress/web", "-n=shop"}} {
			_, out, stderr := runWithInput(t, whole+"---\n"+text, nil, slices.Concat(command, []string{"-f=-", "--files-only"}, flags)...)
			for _, s := range []string{out, stderr} {
				if i := strings.IndexFunc(s, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
					t.Errorf("%s, %v: %q", name, command, s[max(0, i-60):min(len(s), i+40)])
				}
			}
		}
	}
}

// TestAnnotationsCannotAddLinesToMigrationReport checks that a text of several lines in an annotation is on one line in the
// report of migrate. Otherwise an Ingress could add a line that looks like advice of the command.
func TestAnnotationsCannotAddLinesToMigrationReport(t *testing.T) {
	const text = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/actions.html: '{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/html","statusCode":"503","messageBody":"<p>\nnext: body"}}'
    alb.ingress.kubernetes.io/conditions.html: '[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"x","values":["a\nnext: header"]}},{"field":"host-header","hostHeaderConfig":{"values":["www.*.example.com"]}}]'
spec:
  ingressClassName: alb
  rules:
  - http: {paths: [{path: /a, pathType: Prefix, backend: {service: {name: html, port: {name: use-annotation}}}}]}
  - host: shop.example.com
    http: {paths: [{path: /b, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`
	_, report, stderr := runWithInput(t, serviceYAML+"---\n"+text, nil, "migrate", "-f=-", "--check")
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "next: ") {
			t.Errorf("a line of an annotation: %s", line)
		}
	}
	if !strings.Contains(report, `answer 503 <p>\nnext: body`) || !strings.Contains(report, `x: a\nnext: header`) {
		t.Errorf("the report lacks the texts of the annotations: %s%s", report, stderr)
	}
}
