package webhook_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	ingresses "github.com/fulcrum-lb/fulcrum/internal/translate/ingress/testdata"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// TestAdmittedIngressesHaveNoFindingThatDenies checks that an Ingress is admitted only if, after it is stored, no finding
// about it denies an Ingress, and it has no invalid path. A denied Ingress has such a finding or such a path. The test uses
// the Ingresses of the translation tests, with random changes.
func TestAdmittedIngressesHaveNoFindingThatDenies(t *testing.T) {
	corpus, err := ingresses.Files.ReadDir(".")
	if err != nil || len(corpus) == 0 {
		t.Fatal("no corpus", err)
	}
	admitted, denied := 0, 0
	for _, file := range corpus {
		text, err := ingresses.Files.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(text).Files {
			if f.Name != "cluster.yaml" {
				continue
			}
			for seed := range uint64(4) {
				mem := newStore(t, string(f.Data))
				for _, o := range mem.All(cluster.KindIngress) {
					ing := o.DeepCopyObject().(*networkingv1.Ingress)
					if ing.DeletionTimestamp != nil {
						continue
					}
					if seed > 0 {
						changeRandomly(rand.New(rand.NewPCG(seed, uint64(len(file.Name())))), ing)
					}
					if checkReview(t, file.Name(), mem, o, ing) {
						admitted++
					} else {
						denied++
					}
				}
			}
		}
	}
	if admitted < 100 || denied < 100 {
		t.Errorf("%d admitted and %d denied prove little", admitted, denied)
	}
}

// checkReview validates ing in place of the stored Ingress, and compares the answer with the findings of the translation
// after ing is stored. It returns whether ing was admitted. Afterwards it restores the stored Ingress.
func checkReview(t *testing.T, name string, mem *cluster.Memory, stored cluster.Object, ing *networkingv1.Ingress) bool {
	t.Helper()
	c := testConfig(mem)
	data, err := json.Marshal(ing)
	if err != nil {
		t.Fatal(err)
	}
	a := mustAnswer(t, newTestHandler(c), testRequest{Path: webhook.PathIngress, Operation: admissionv1.Create, Namespace: ing.Namespace, Object: decodeObject(t, string(data))})
	if err := mem.Put(ing); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := mem.Put(stored); err != nil {
			t.Fatal(err)
		}
	}()
	var reasons finding.List
	known := true // whether the class of the Ingress is valid
	v := cluster.NewView(mem)
	for _, id := range c.Ingress.Stacks(v, ing) {
		_, found := c.Ingress.Translate(v, id, nil)
		for _, f := range found.ForObject(finding.Ref{Kind: "Ingress", Namespace: ing.Namespace, Name: ing.Name}) {
			known = known && f.Reason != finding.IngressClassInvalid
			if webhook.DenialCheckName(f) != "" {
				reasons.Add(f)
			}
		}
	}
	served := c.Ingress.MayServe(v, ing)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	switch {
	case a.Allowed && served && (len(reasons) > 0 || known && hasInvalidPath(ing)):
		t.Errorf("%s: %s/%s was admitted, with %v", name, ing.Namespace, ing.Name, reasons)
	case !a.Allowed && len(reasons) == 0 && !hasInvalidPath(ing):
		t.Errorf("%s: %s/%s was denied for no reason: %s", name, ing.Namespace, ing.Name, a.Result.Message)
	}
	return a.Allowed
}

// hasInvalidPath reports, without the translation, whether a path has an invalid backend or invalid conditions, or whether
// the default backend is invalid.
func hasInvalidPath(ing *networkingv1.Ingress) bool {
	if b := ing.Spec.DefaultBackend; b != nil && b.Service == nil {
		return true
	}
	return hasBackend(ing, func(b networkingv1.IngressBackend) bool {
		if b.Service == nil {
			return true
		}
		raw, ok := ing.Annotations["alb.ingress.kubernetes.io/conditions."+b.Service.Name]
		if !ok {
			return false
		}
		_, err := settings.ParseConditions(raw)
		return err != nil
	})
}

func hasBackend(ing *networkingv1.Ingress, is func(networkingv1.IngressBackend) bool) bool {
	for _, r := range ing.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for _, p := range r.HTTP.Paths {
			if is(p.Backend) {
				return true
			}
		}
	}
	return false
}

// changeRandomly makes a small random change to an Ingress.
func changeRandomly(r *rand.Rand, ing *networkingv1.Ingress) {
	if ing.Annotations == nil {
		ing.Annotations = map[string]string{}
	}
	const p = "alb.ingress.kubernetes.io/"
	service := "web"
	hasBackend(ing, func(b networkingv1.IngressBackend) bool {
		if b.Service != nil {
			service = b.Service.Name
		}
		return r.IntN(2) == 0
	})
	conditions := []string{
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]`, `[{"field":"moon"}]`, `nonsense`, ``, `[]`,
		`[{"field":"host-header","hostHeaderConfig":{"regexValues":["a.*"]}}]`, `[{"field":"query-string","queryStringConfig":{"values":[{"value":""}]}}]`,
	}
	for range 1 + r.IntN(3) {
		switch r.IntN(8) {
		case 0, 1, 2:
			ing.Annotations[p+"conditions."+service] = conditions[r.IntN(len(conditions))]
		case 3:
			ing.Annotations[p+"listen-ports"] = []string{`[{"HTTP":80}]`, `[{"HTTPS":443}]`, `nonsense`}[r.IntN(3)]
		case 4:
			ing.Annotations[p+"group.name"] = []string{"shared", "Not Valid"}[r.IntN(2)]
		case 5:
			ing.Annotations["kubernetes.io/ingress.class"] = []string{"alb", "nginx"}[r.IntN(2)]
		case 6:
			ing.Spec.IngressClassName = new([]string{"alb", "missing"}[r.IntN(2)])
		case 7:
			ing.Annotations[p+fmt.Sprintf("actions.%s", service)] = "nonsense"
		}
	}
}
