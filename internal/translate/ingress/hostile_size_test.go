package ingress_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

const objectsWithClass = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ns}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}
`

// ingressOfSize returns the YAML of an Ingress of IngressGroup "g" with the rules. notes are pairs of an annotation key,
// without prefix, and its value.
func ingressOfSize(namespace, name string, rules []string, notes ...string) string {
	var as []string
	for i := 0; i < len(notes); i += 2 {
		as = append(as, fmt.Sprintf("alb.ingress.kubernetes.io/%s: '%s'", notes[i], notes[i+1]))
	}
	return fmt.Sprintf(`
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %s, namespace: %s, annotations: {alb.ingress.kubernetes.io/group.name: g, %s}}
spec: {ingressClassName: alb, rules: [%s]}
`, name, namespace, strings.Join(as, ", "), strings.Join(rules, ", "))
}

func numberedTexts(n int, format string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// TestHostileSizesAreBounded checks that the memory and the number of questions for one translation are limited. A product
// of lists in an object has a maximum, and no cost grows with the square of the number of objects in a namespace.
func TestHostileSizesAreBounded(t *testing.T) {
	const path = `{path: /p%d, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}`
	paths := []string{`{host: a.example.com, http: {paths: [` + strings.Join(numberedTexts(4000, path), ", ") + `]}}`}
	one := []string{`{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: act, port: {name: use-annotation}}}}]}}`}
	ports := `[` + strings.Join(numberedTexts(100, `{"HTTP":1%03d}`), ",") + `]`
	hosts := ingressOfSize("ns2", "b", numberedTexts(3900, `{host: "h%d.example.com", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}`))
	each := func(n int, of func(i int) string) string { return strings.Join(generateTexts(n, of), "") }
	for name, doc := range map[string]string{
		"conditions times paths": ingressOfSize("ns", "a", paths, "conditions.web",
			`[{"field":"host-header","hostHeaderConfig":{"values":[`+strings.Join(numberedTexts(20000, `"h%d"`), ",")+`]}}]`),
		"target groups by name": each(40, func(i int) string {
			var rules, notes []string
			for n := range 100 {
				rules = append(rules, strings.ReplaceAll(one[0], "name: act", fmt.Sprintf("name: act%d", n)))
				notes = append(notes, fmt.Sprintf("actions.act%d", n), fmt.Sprintf(`{"type":"forward","targetGroupName":"n%d-%d"}`, i, n))
			}
			return ingressOfSize("ns", fmt.Sprint("a", i), rules, notes...)
		}),
		"target groups of an action": ingressOfSize("ns", "a", one, "actions.act",
			`{"type":"forward","forwardConfig":{"targetGroups":[`+strings.Join(numberedTexts(5000, `{"targetGroupName":"n%d","weight":1}`), ",")+`]}}`),
		"hosts with wildcards": each(4, func(i int) string {
			return ingressOfSize(fmt.Sprint("ns", i%2), fmt.Sprint("a", i), numberedTexts(1900, fmt.Sprintf(`{host: "*.h%%d-%d.example.com", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}`, i)))
		}),
		"ports of a frontend NLB": ingressOfSize("ns", "a", one, "enable-frontend-nlb", "true", "inbound-cidrs", strings.Join(numberedTexts(200, "10.0.0.%d/32"), ","),
			"frontend-nlb-listener-port-mapping", strings.Join(numberedTexts(9999, "1%04d=80"), ",")),
		"ports of a frontend NLB of another member": ingressOfSize("ns", "a", one, "enable-frontend-nlb", "true") +
			ingressOfSize("ns2", "b", one, "inbound-cidrs", strings.Join(numberedTexts(200, "10.0.0.%d/32"), ","),
				"frontend-nlb-listener-port-mapping", strings.Join(numberedTexts(9999, "1%04d=80"), ",")),
		"ranges times ports of a frontend NLB": ingressOfSize("ns", "a", one, "enable-frontend-nlb", "true", "inbound-cidrs", strings.Join(numberedTexts(1000, "10.0.%d.0/24"), ","),
			"frontend-nlb-listener-port-mapping", strings.Join(numberedTexts(100, "1%04d=80"), ",")),
		"ranges times ports": ingressOfSize("ns", "a", one, "listen-ports", ports, "inbound-cidrs", strings.Join(numberedTexts(9000, "10.0.0.%d/32"), ",")),
		"members times tags times ports": each(400, func(i int) string {
			return ingressOfSize("ns", fmt.Sprint("a", i), []string{"{host: a.example.com}"}, "listen-ports", ports, "tags", strings.Join(numberedTexts(40, fmt.Sprintf("k%d-%%d=v", i)), ","))
		}),
		"invalid paths times hosts of others": hosts + ingressOfSize("ns", "a", []string{`{host: a.example.com, http: {paths: [` +
			strings.Join(numberedTexts(3900, `{path: "/*%d", pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}`), ", ") + `]}}`}),
		"members without an order times hosts of others": hosts + each(1500, func(i int) string { return ingressOfSize("ns", fmt.Sprint("a", i), one, "group.order", "x") }),
		"tags of a Service times its ports": ingressOfSize("ns", "a", []string{`{host: a.example.com, http: {paths: [` +
			strings.Join(numberedTexts(1000, `{path: /p%[1]d, pathType: Prefix, backend: {service: {name: tagged, port: {number: %[1]d}}}}`), ", ") + `]}}`}) + `
---
apiVersion: v1
kind: Service
metadata: {name: tagged, namespace: ns, annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/tags: "` +
			strings.Join(numberedTexts(2000, "aws:k%d=v"), ",") + `"}}
spec: {ports: [` + strings.Join(numberedTexts(1000, "{name: p%[1]d, port: %[1]d}"), ", ") + `]}
`,
		"members times attributes": each(200, func(i int) string {
			return ingressOfSize("ns", fmt.Sprint("a", i), one, "load-balancer-attributes", strings.Join(numberedTexts(200, fmt.Sprintf("k%d-%%d=v", i)), ","))
		}),
	} {
		for _, tenancy := range []ingress.Tenancy{ingress.Cooperative, ingress.Isolated} {
			t.Run(name+", "+string(tenancy), func(t *testing.T) {
				objects := enginetest.LoadObjects(t, objectsWithClass+doc)
				f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb", Tenancy: tenancy})
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				stack, _ := f.Translate(cluster.NewView(objects), model.StackID{Kind: model.Ingress, Name: "g"}, nil)
				questions := len(stack.Questions())
				runtime.ReadMemStats(&after)
				if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 250 {
					t.Errorf("the translation takes %d MB", mb)
				}
				if questions > 110 {
					t.Errorf("%d questions", questions)
				}
			})
		}
	}
}

func generateTexts(n int, of func(int) string) (out []string) {
	for i := range n {
		out = append(out, of(i))
	}
	return out
}
