package cases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/clock"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/ingressgen"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// notMigrated are cases that cannot be translated to the Gateway API without loss (see testdata/cases.txt of
// internal/migrate), or that name a resource that only one load balancer at a time can use.
var notMigrated = map[string]string{
	"ingress-action-external":        "its target groups are attached to the load balancer of the Ingress",
	"ingress-action-redirect":        "a redirect with parts of the request",
	"ingress-clusterip-instance":     "the Ingress is invalid",
	"ingress-conditions":             "a parameter without a name",
	"ingress-missing-port":           "the Ingress is invalid",
	"ingress-name":                   "the name of the load balancer is taken",
	"ingress-transforms":             "a rewrite that a route cannot express",
	"ingress-cert-discovery-missing": "no certificate is found, so that there is no load balancer",
	"ingress-class-foreign":          "the class belongs to another controller",
	"ingress-cert-discovery":         "certificates for hosts that only spec.tls names",
	"ingress-group-conflict-scheme":  "the members disagree",
}

// TestTranslatedCasesAnswerAlike serves each case twice: by its Ingresses, and by a Gateway to which they are
// translated. Both load balancers must answer each request in the same way, according to the emulator's evaluation of
// their rules.
func TestTranslatedCasesAnswerAlike(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, name := range Names(t) {
		if !strings.HasPrefix(name, "ingress-") || notMigrated[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewHarness(t, harness.Options{})
				NewLoader(t, r).Apply(t, name)
				r.Settle(controllerRunTime)
				result := translateIngresses(t, r)
				for _, o := range result.Objects() {
					if err := r.Store.Apply(o.Object); err != nil {
						t.Fatal(err)
					}
				}
				r.Settle(controllerRunTime)
				for _, g := range result.IngressGroups {
					compared += compareAnswers(t, r, g)
				}
			})
		})
	}
	if compared < 400 {
		t.Errorf("%d requests compared", compared)
	}
}

// TestTranslatedRandomIngressGroupsAnswerAlike runs the test of TestTranslatedCasesAnswerAlike for random IngressGroups
// that can be translated without loss.
func TestTranslatedRandomIngressGroupsAnswerAlike(t *testing.T) {
	t.Parallel()
	n, compared, whole, inFront := seeds.Amount(30, 60), 0, 0, 0
	if testing.Short() {
		n = 20
	}
	for seed := range n {
		synctest.Test(t, func(t *testing.T) {
			r := NewHarness(t, harness.Options{})
			var changes []func(*rand.Rand, string) string
			if seed%4 == 0 {
				changes = append(changes, ingressgen.WithFrontendNLB)
			}
			manifests := applyRandomIngressGroup(r, uint64(seed), changes...)
			r.Settle(controllerRunTime)
			result := translateIngresses(t, r)
			for _, o := range result.Objects() {
				if err := r.Store.Apply(o.Object); err != nil {
					t.Fatal(err)
				}
			}
			r.Settle(controllerRunTime)
			for _, g := range result.IngressGroups {
				if g.WorstSeverity() == migrate.Lost {
					continue
				}
				if whole++; !g.FrontendGateway.IsZero() {
					inFront++
				}
				compared += compareAnswers(t, r, g)
			}
			if t.Failed() {
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
						t.Logf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
					}
				}
				t.Logf("seed %d\n%s", seed, manifests)
			}
		})
	}
	t.Logf("%d groups, %d with a frontend NLB, %d requests", whole, inFront, compared)
	if whole < n/2 || inFront < n/10 {
		t.Errorf("only %d of %d groups are compared, %d with a frontend NLB", whole, n, inFront)
	}
}

// applyRandomIngressGroup applies the manifests of a random IngressGroup in two namespaces, and returns them. The functions
// in change modify the manifests first.
func applyRandomIngressGroup(r *harness.Harness, seed uint64, change ...func(*rand.Rand, string) string) string {
	fill := strings.NewReplacer("$CERT", r.Seeded.Certs["example.com"], "$SUBNETS", strings.Join(r.Seeded.Public[:2], ","), "$GROUP", r.Seeded.ExtraSG,
		"$WEBACL", r.Seeded.WebACL, "$TRUSTSTORE", "arn:aws:elasticloadbalancing:"+harness.Region+":"+harness.Account+":truststore/ts/0123456789abcdef", "$PREFIXLIST", r.Seeded.PrefixList)
	random := rand.New(rand.NewPCG(seed, 3))
	manifests := ingressgen.IngressGroup(random)
	for _, c := range change {
		manifests = c(random, manifests)
	}
	manifests = fill.Replace(manifests)
	for _, ns := range []string{"shop", "blog"} {
		r.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+ns+", labels: {kubernetes.io/metadata.name: "+ns+"}}\n",
			"apiVersion: v1\nkind: Secret\nmetadata: {namespace: "+ns+", name: login}\nstringData: {clientID: a, clientSecret: b}\n")
	}
	r.Apply(manifests)
	return manifests
}

// translateIngresses translates the Ingresses of a cluster to objects of the Gateway API.
func translateIngresses(t *testing.T, r *harness.Harness) migrate.Result {
	t.Helper()
	from, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindIngressClass, cluster.KindIngressClassParams, cluster.KindService, cluster.KindNamespace} {
		if err := from.Put(r.Store.All(kind)...); err != nil {
			t.Fatal(err)
		}
	}
	shared := assemble.Options{Cluster: harness.ClusterName}
	ofIngresses := ingress.Options{Options: shared, Class: "alb"}
	raiseConditionValues(&ofIngresses)
	out, err := migrate.Translate(from, migrate.Options{
		Ingress: ingress.New(ofIngresses), ALBGateway: gateway.New(model.ALBGateway, gateway.Options{Options: shared}),
		NLBGateway:       gateway.New(model.NLBGateway, gateway.Options{Options: shared}),
		DefaultSSLPolicy: shared.WithDefaults().DefaultSSLPolicy, WithoutDryRun: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// compareAnswers compares the answers of the load balancers that an IngressGroup and its Gateway have. It returns the number
// of compared answers.
func compareAnswers(t *testing.T, r *harness.Harness, g migrate.IngressGroup) (n int) {
	t.Helper()
	all := r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	p := all.Partition(harness.Account, harness.Region)
	before, after := loadBalancerByDNSName(p, hostnameOf(r, g.Members[0].Namespace, g.Members[0].Name)), loadBalancerByDNSName(p, addressOf(r, g.Gateway.Namespace, g.Gateway.Name))
	if before == nil || after == nil || before == after {
		t.Fatalf("load balancers %v and %v", before, after)
	}
	services := servicesByTargetGroup(r)
	for _, l := range g.IngressStack.LoadBalancer.Listeners {
		a, b := answersOf(t, p, before.ARN, l.Port, services), answersOf(t, p, after.ARN, l.Port, services)
		check.ForEachRequest(l.Rules, nil, func(req model.Request, _, _ []model.Rule) {
			f := dataplane.RequestFacts{Host: req.Host, Path: req.Path, Query: req.Query, Method: req.Method, Header: http.Header{}, Source: netip.MustParseAddr(req.Client)}
			for _, h := range req.Header {
				f.Header.Add(h.Name, h.Value)
			}
			n++
			if x, y := a(f), b(f); x != y && !t.Failed() {
				t.Errorf("port %d, %+v: Ingress %q, Gateway %q", l.Port, req, x, y)
			}
		})
	}
	return n + compareFrontendNLBs(t, r, p, g, before, after)
}

func hostnameOf(r *harness.Harness, namespace, name string) string {
	obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: name})
	ing, ok := obj.(*networkingv1.Ingress)
	if !ok || len(ing.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	return ing.Status.LoadBalancer.Ingress[0].Hostname
}

func addressOf(r *harness.Harness, namespace, name string) string {
	obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: namespace, Name: name})
	gw, ok := obj.(*gwv1.Gateway)
	if !ok || len(gw.Status.Addresses) == 0 {
		return ""
	}
	return gw.Status.Addresses[0].Value
}

func loadBalancerByDNSName(p *store.Partition, dnsName string) *store.LoadBalancer {
	for _, lb := range p.ELB.LoadBalancers {
		if strings.EqualFold(lb.DNSName, dnsName) {
			return lb
		}
	}
	return nil
}

// servicesByTargetGroup returns the Service, as namespace and name, of each target group with a binding, by the ARN of the
// target group.
func servicesByTargetGroup(r *harness.Harness) map[string]string {
	services := map[string]string{}
	for _, obj := range r.Store.All(cluster.KindBinding) {
		b := obj.(*elbv2.TargetGroupBinding)
		services[b.Spec.TargetGroupARN] = b.Namespace + "/" + b.Spec.ServiceRef.Name
	}
	return services
}

// answersOf returns a function that returns the answer of a port of a load balancer to a request. The answers name Services
// instead of target groups.
func answersOf(t *testing.T, p *store.Partition, lb string, port int32, services map[string]string) func(dataplane.RequestFacts) string {
	t.Helper()
	type rule struct {
		*store.Rule
		matcher *dataplane.Matcher
		then    dataplane.Rule
	}
	var rules []rule
	for _, x := range p.ELB.Rules {
		l := p.ELB.Listeners[x.Listener]
		if l == nil || l.LoadBalancer != lb || l.Port != port {
			continue
		}
		then, err := serve.ConvertRule(x)
		if err != nil {
			t.Fatal(err)
		}
		m, err := dataplane.Compile(then.Conditions)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule{x, m, then})
	}
	last := func(r rule) int {
		if r.IsDefault() {
			return 1
		}
		return 0
	}
	slices.SortFunc(rules, func(a, b rule) int { return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Priority, b.Priority)) })
	return func(f dataplane.RequestFacts) string {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.matcher.Match(f) })
		if i < 0 {
			return "refused"
		}
		return strings.ReplaceAll(answerText(rules[i].then, f, services), "#{port}", fmt.Sprint(port))
	}
}

// answerText describes the answer of rule r to request f, with the rewritten host and URL and the settings of authentication
// actions.
func answerText(r dataplane.Rule, f dataplane.RequestFacts, services map[string]string) string {
	var out []string
	for _, a := range r.Authenticators {
		out = append(out, fmt.Sprintf("%T %+v", a, a))
	}
	for _, x := range r.Transforms {
		switch x := x.(type) {
		case dataplane.HostRewrite:
			out = append(out, "rewrite host to "+regexp.MustCompile(x.Regex).ReplaceAllString(f.Host, x.Replace))
		case dataplane.URLRewrite:
			out = append(out, "rewrite URL to "+regexp.MustCompile(x.Regex).ReplaceAllString(f.Path+"?"+f.Query, x.Replace))
		}
	}
	switch then := r.Action.(type) {
	case dataplane.Forward:
		var to []string
		for _, g := range then.TargetGroups {
			weight := g.Weight
			if len(then.TargetGroups) == 1 {
				weight = 1
			}
			if weight > 0 {
				to = append(to, fmt.Sprint(services[g.ARN], " ", weight))
			}
		}
		slices.Sort(to)
		out = append(out, "forward to "+strings.Join(to, ", "))
	case dataplane.Redirect:
		out = append(out, fmt.Sprintf("redirect %d %s://%s:%s%s?%s", then.Status, then.Protocol, then.Host, then.Port, then.Path, then.Query))
	case dataplane.FixedResponse:
		out = append(out, fmt.Sprintf("answer %d %s", then.Status, then.Body))
	}
	return strings.Join(out, " then ")
}
