package ingress_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// ingressWithPortsAndPaths returns an Ingress with the given numbers of ports and paths.
func ingressWithPortsAndPaths(ports, paths int) string {
	var ps, rs []string
	for n := range ports {
		ps = append(ps, fmt.Sprintf(`{"HTTP":%d}`, 1000+n))
	}
	for n := range paths {
		rs = append(rs, fmt.Sprintf(`{path: /p%d, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}`, n))
	}
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ns}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: large, namespace: ns, annotations: {alb.ingress.kubernetes.io/listen-ports: '[%s]'}}
spec:
  ingressClassName: alb
  rules: [{host: a.example.com, http: {paths: [%s]}}]
`, strings.Join(ps, ","), strings.Join(rs, ","))
}

var largeStackID = model.StackID{Kind: model.Ingress, Namespace: "ns", Name: "large"}

func TestTooLargeIngressGetsNoRules(t *testing.T) {
	for _, c := range []struct {
		ports, paths int
		field        string // field of the finding; "" if the Ingress is not too large
	}{
		{100, 40, ""}, {100, 41, "spec.rules"}, {101, 1, "alb.ingress.kubernetes.io/listen-ports"}, {1000, 400, "alb.ingress.kubernetes.io/listen-ports"},
	} {
		f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
		stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, ingressWithPortsAndPaths(c.ports, c.paths)), largeStackID, nil)
		rules := 0
		if stack.LoadBalancer != nil {
			for _, l := range stack.LoadBalancer.Listeners {
				rules += len(l.Rules)
			}
		}
		switch {
		case c.field == "" && (rules != c.ports*c.paths || len(found) > 0):
			t.Errorf("%d ports, %d paths: %d rules, %v", c.ports, c.paths, rules, found)
		case c.field != "" && (rules > 0 || len(found) != 1 || found[0].Reason != finding.IngressTooLarge || found[0].Field != c.field):
			t.Errorf("%d ports, %d paths: %d rules, %v", c.ports, c.paths, rules, found)
		}
	}
}

// TestNamedCertificatesAreLimited checks that the number of certificates that the Ingresses of a namespace name, counted on
// each HTTPS port, is limited, and that a certificate that several Ingresses name counts once.
func TestNamedCertificatesAreLimited(t *testing.T) {
	named := func(namespace, name string, certificates []string) string {
		return ingressOfSize(namespace, name, []string{`{host: a.example.com}`},
			"listen-ports", `[{"HTTP":80},{"HTTPS":443},{"HTTPS":8443}]`, "certificate-arn", strings.Join(certificates, ","))
	}
	c := numberedTexts(2001, "c%d")
	doc := objectsWithClass + named("ns", "first", c[:1000]) + named("ns", "same", c[:1000]) + named("ns", "tooMany", c[1000:]) + named("ns", "within", c[1000:2000]) +
		named("other", "other", c[1000:]) + named("ns", "repeated", slices.Repeat(c[:1], 2001))
	f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
	_, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, doc), model.StackID{Kind: model.Ingress, Name: "g"}, nil)
	var held []string
	for _, x := range found {
		if x.Reason == finding.IngressTooLarge && x.Field == "alb.ingress.kubernetes.io/certificate-arn" {
			held = append(held, x.Object.Name)
		}
	}
	if want := []string{"repeated", "tooMany"}; !slices.Equal(held, want) {
		t.Errorf("held for their certificates: %v, want %v", held, want)
	}
}

// BenchmarkLargestIngress measures the memory that stays in use after the translation of the largest Ingress that is served,
// and of an Ingress that is too large.
func BenchmarkLargestIngress(b *testing.B) {
	for _, c := range [][2]int{{100, 40}, {1000, 400}} {
		b.Run(fmt.Sprintf("%dx%d", c[0], c[1]), func(b *testing.B) {
			m, err := cluster.MemoryFromYAML(nil, []byte(ingressWithPortsAndPaths(c[0], c[1])))
			if err != nil {
				b.Fatal(err)
			}
			f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
			var stack model.Stack
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				stack, _ = f.Translate(cluster.NewView(m), largeStackID, nil)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))/1e6, "MB-held")
			runtime.KeepAlive(stack)
		})
	}
}

// TestNoResourceGetsMoreTagsThanAWSAllows checks that the tags of a target group, which are those of the Ingress and the
// Service, and the tags of the frontend NLB are limited, and that the first tag that is left out is reported.
func TestNoResourceGetsMoreTagsThanAWSAllows(t *testing.T) {
	tags := func(prefix string, n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%s%02d=v", prefix, i))
		}
		return strings.Join(out, ",")
	}
	objects := strings.NewReplacer("{name: web, namespace: ns}", "{name: web, namespace: ns, annotations: {alb.ingress.kubernetes.io/tags: '"+tags("s", 40)+"'}}",
		"annotations: {", "annotations: {alb.ingress.kubernetes.io/enable-frontend-nlb: 'true', alb.ingress.kubernetes.io/tags: '"+tags("i", 40)+"', alb.ingress.kubernetes.io/frontend-nlb-tags: '"+tags("f", 60)+"', ").
		Replace(ingressWithPortsAndPaths(1, 1))
	defaults := map[string]string{"i00": "d", "team": "d"}
	f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig", DefaultTags: defaults}, Class: "alb"})
	stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, objects), largeStackID, nil)
	const most = naming.MaxTags - 3 // the controller adds three
	if n := len(stack.TargetGroups[0].Tags); n > most || n < most-len(defaults) {
		t.Errorf("the target group has %d tags", n)
	}
	if n := len(stack.FrontendNLB.Tags); n != most {
		t.Errorf("the frontend NLB has %d tags", n)
	}
	for _, want := range []string{
		`there are 60 tags for the frontend NLB, and AWS allows 47; 13 are left out, the first is "f47"`,
		`there are 80 tags for the target group of Service ns/web, and AWS allows 45; 35 are left out, the first is "s05"`,
	} {
		if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.TagInvalid && f.Message == want }) {
			t.Errorf("no finding %q in %v", want, found)
		}
	}
}
