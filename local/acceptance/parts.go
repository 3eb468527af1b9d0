package acceptance

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/local/inspect"
)

// part is one thing that a run tries. Each makes what it needs, so that it can be run alone and again.
type part struct {
	name, about string
	balancers   int // that it makes beside those of the parts before it
	run         func(r *run, ctx context.Context, note func(string, ...any)) error
}

var parts = []part{
	{"ingress", "an Ingress: an ALB answers by pods, and by a fixed response", 1, (*run).ingress},
	{"service", "a Service: an NLB with nodes as targets", 1, (*run).service},
	{"gateway", "a Gateway with an HTTPRoute: an ALB answers by pods, and redirects", 1, (*run).gateway},
	{"tls-secret", "an Ingress with a TLS Secret: imported into ACM, renewed under traffic", 1, (*run).tlsSecret},
	{"drift", "a listener rule is deleted by hand and restored; up to 15 minutes", 0, (*run).drift},
	{"replacement", "the scheme of the Ingress changes under traffic: a new ALB, then the old one goes", 1, (*run).replacement},
	{"take-over", "a controller without memory finds all this and changes nothing", 0, (*run).takeOver},
}

// Names are the parts in their order.
func Names() []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.name)
	}
	return out
}

func (r *run) chosen() []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !slices.Contains(r.Parts, p.name) })
}

// runParts runs those without a result. A part that fails stops no other; an error says that the run is cut off.
func (r *run) runParts(ctx context.Context) error {
	for _, p := range r.chosen() {
		if r.state.Results[p.name] != nil {
			r.say("%s: has a result already", p.name)
			continue
		}
		r.proxy.begin(p.name)
		r.say("%s: %s", p.name, p.about)
		began := time.Now()
		res, err := r.try(ctx, p)
		if cut := r.proxy.reachable(); cut != nil || ctx.Err() != nil || errors.Is(err, errCut) {
			return cmp.Or(cut, err, ctx.Err())
		}
		res.Took = time.Since(began).Round(time.Second)
		if err != nil {
			res.Error = err.Error()
			r.say("  FAILED after %s: %v", res.Took, err)
		} else {
			r.say("  passed in %s", res.Took)
		}
		r.state.Results[p.name] = res
		if err := r.save(); err != nil {
			return err
		}
		if err := r.revive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// try runs a part, and again if it failed while AWS was out of reach and AWS has come back.
func (r *run) try(ctx context.Context, p part) (*result, error) {
	for {
		res := &result{}
		err := p.run(r, ctx, func(format string, args ...any) {
			note := fmt.Sprintf(format, args...)
			res.Notes = append(res.Notes, note)
			r.say("  %s", note)
		})
		if err == nil || !r.proxy.failing() {
			return res, err
		}
		r.say("  AWS is out of reach: %v", err)
		// The controller goes on calling it.
		if err := r.until(ctx, "AWS answers", func(context.Context) error {
			if r.proxy.failing() {
				return errCut
			}
			return nil
		}); err != nil {
			return res, err
		}
	}
}

// revive starts the controller again if it has ended.
func (r *run) revive(ctx context.Context) error {
	if r.process != nil && r.process.Alive() {
		return nil
	}
	return r.startController(ctx)
}

// hostname waits for the name of a load balancer in a status, other than one of before.
func (r *run) hostname(ctx context.Context, what string, before string, read func(context.Context) (string, error)) (string, error) {
	var name string
	err := r.until(ctx, "the status of "+what+" shows a load balancer", func(ctx context.Context) (err error) {
		if name, err = read(ctx); err == nil && (name == "" || name == before) {
			err = fmt.Errorf("it shows %q", name)
		}
		return err
	})
	return name, err
}

func (r *run) ofIngress(name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		i, err := r.kube.NetworkingV1().Ingresses(r.state.Run).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, lb := range i.Status.LoadBalancer.Ingress {
			return lb.Hostname, nil
		}
		return "", nil
	}
}

const webURL = "http://web.acceptance.test/"

// web makes the Ingress "web" and waits until pods answer.
func (r *run) web(ctx context.Context) (string, error) {
	if err := r.apply(ctx, "ingress", "internet-facing"); err != nil {
		return "", err
	}
	name, err := r.hostname(ctx, "Ingress web", "", r.ofIngress("web"))
	if err != nil {
		return "", err
	}
	return name, r.answers(ctx, name, webURL+"some/path", nil, byPod)
}

func (r *run) ingress(ctx context.Context, note func(string, ...any)) error {
	name, err := r.web(ctx)
	if err != nil {
		return err
	}
	note("answered by pods")
	err = r.answers(ctx, name, webURL+"teapot", nil, func(a reply) error {
		if a.status != http.StatusTeapot || a.body != "teapot" {
			return errors.New("want 418 with its text")
		}
		return nil
	})
	if err != nil {
		return err
	}
	note("answered by a fixed response")
	return r.answers(ctx, name, "http://other.acceptance.test/", nil, func(a reply) error {
		if a.status != http.StatusNotFound {
			return errors.New("want 404 for a host that no rule has")
		}
		return nil
	})
}

func (r *run) service(ctx context.Context, note func(string, ...any)) error {
	if err := r.apply(ctx, "service", ""); err != nil {
		return err
	}
	name, err := r.hostname(ctx, "Service streams", "", func(ctx context.Context) (string, error) {
		s, err := r.kube.CoreV1().Services(r.state.Run).Get(ctx, "streams", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, lb := range s.Status.LoadBalancer.Ingress {
			return lb.Hostname, nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	if err := r.answers(ctx, name, "http://streams.acceptance.test/", nil, byPod); err != nil {
		return err
	}
	note("answered by pods, through nodes")
	return nil
}

func (r *run) gateway(ctx context.Context, note func(string, ...any)) error {
	if err := r.apply(ctx, "gateway", ""); err != nil {
		return err
	}
	gateway := &unstructured.Unstructured{}
	gateway.SetAPIVersion("gateway.networking.k8s.io/v1")
	gateway.SetKind("Gateway")
	gateway.SetName("edge")
	gateway.SetNamespace(r.state.Run)
	name, err := r.hostname(ctx, "Gateway edge", "", func(ctx context.Context) (string, error) {
		u, err := r.applier.Get(ctx, gateway)
		if err != nil {
			return "", err
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "addresses")
		for _, a := range list {
			if m, ok := a.(map[string]any); ok {
				return fmt.Sprint(m["value"]), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	if err := r.answers(ctx, name, "http://edge.acceptance.test/new", nil, byPod); err != nil {
		return err
	}
	note("answered by pods")
	return r.answers(ctx, name, "http://edge.acceptance.test/old", nil, func(a reply) error {
		if a.status != http.StatusMovedPermanently {
			return errors.New("want 301")
		}
		return nil
	})
}

func (r *run) tlsSecret(ctx context.Context, note func(string, ...any)) error {
	roots := x509.NewCertPool()
	var both [2]certificate
	for i := range both {
		var err error
		if both[i], err = newCertificate(); err != nil {
			return err
		}
		roots.AppendCertsFromPEM(both[i].cert)
	}
	if err := r.issue(ctx, both[0]); err != nil {
		return err
	}
	if err := r.apply(ctx, "tls", ""); err != nil {
		return err
	}
	name, err := r.hostname(ctx, "Ingress secure", "", r.ofIngress("secure"))
	if err != nil {
		return err
	}
	shows := func(want certificate) func(reply) error {
		return func(a reply) error {
			if a.certificate != want.serial {
				return errors.New("another certificate")
			}
			return byPod(a)
		}
	}
	const url = "https://" + secureHost + "/"
	if err := r.answers(ctx, name, url, roots, shows(both[0])); err != nil {
		return err
	}
	note("the certificate of the Secret is shown")
	load := r.traffic(ctx, name, url, roots)
	err = r.issue(ctx, both[1])
	if err == nil {
		err = r.answers(ctx, name, url, roots, shows(both[1]))
	}
	text, failed := load.end()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	note("renewed: %s", text)
	return nil
}

func (r *run) drift(ctx context.Context, note func(string, ...any)) error {
	name, err := r.web(ctx)
	if err != nil {
		return err
	}
	api := elbv2.NewFromConfig(r.proxy.config())
	rule, err := r.ruleOf(ctx, api, name)
	if err != nil {
		return err
	}
	if _, err := api.DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: &rule}); err != nil {
		return err
	}
	began := time.Now()
	gone := r.until(ctx, "the rule is gone", func(ctx context.Context) error {
		a, err := r.request(ctx, name, webURL+"teapot", nil)
		if err == nil && a.status == http.StatusTeapot {
			err = errors.New("it still answers")
		}
		return err
	})
	if gone != nil {
		return gone
	}
	err = r.answers(ctx, name, webURL+"teapot", nil, func(a reply) error {
		if a.status != http.StatusTeapot {
			return errors.New("want 418")
		}
		return nil
	})
	if err == nil {
		note("a deleted rule answers again after %s", time.Since(began).Round(time.Second))
	}
	return err
}

// ruleOf is the rule with the fixed response of a load balancer.
func (r *run) ruleOf(ctx context.Context, api *elbv2.Client, dns string) (string, error) {
	lb, err := r.balancer(ctx, api, dns)
	if err != nil {
		return "", err
	}
	listeners, err := api.DescribeListeners(ctx, &elbv2.DescribeListenersInput{LoadBalancerArn: &lb})
	if err != nil {
		return "", err
	}
	for _, l := range listeners.Listeners {
		rules, err := api.DescribeRules(ctx, &elbv2.DescribeRulesInput{ListenerArn: l.ListenerArn})
		if err != nil {
			return "", err
		}
		for _, rule := range rules.Rules {
			if !aws.ToBool(rule.IsDefault) && len(rule.Actions) > 0 && rule.Actions[0].FixedResponseConfig != nil {
				return aws.ToString(rule.RuleArn), nil
			}
		}
	}
	return "", errors.New("AWS has no rule with a fixed response")
}

var errNoBalancer = errors.New("AWS has no load balancer")

// balancer is the ARN of the load balancer with a name in DNS.
func (r *run) balancer(ctx context.Context, api *elbv2.Client, dns string) (string, error) {
	pages := elbv2.NewDescribeLoadBalancersPaginator(api, &elbv2.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, lb := range page.LoadBalancers {
			if aws.ToString(lb.DNSName) == dns {
				return aws.ToString(lb.LoadBalancerArn), nil
			}
		}
	}
	return "", fmt.Errorf("%w %s", errNoBalancer, dns)
}

func (r *run) replacement(ctx context.Context, note func(string, ...any)) error {
	before, err := r.web(ctx)
	if err != nil {
		return err
	}
	load := r.traffic(ctx, before, webURL, nil)
	if err := r.apply(ctx, "ingress", "internal"); err != nil {
		_, _ = load.end()
		return err
	}
	name, err := r.hostname(ctx, "Ingress web", before, r.ofIngress("web"))
	text, failed := load.end()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	note("until the status showed the new one: %s", text)
	api := elbv2.NewFromConfig(r.proxy.config())
	if _, err := r.balancer(ctx, api, name); err != nil {
		return err
	}
	began := time.Now()
	err = r.until(ctx, "the old load balancer is gone", func(ctx context.Context) error {
		_, err := r.balancer(ctx, api, before)
		switch {
		case errors.Is(err, errNoBalancer):
			return nil
		case err == nil:
			err = errors.New("it is still there")
		}
		return err
	})
	if err == nil {
		note("the old one was deleted %s later", time.Since(began).Round(time.Second))
	}
	return err
}

// memories are what a controller leaves for the next one.
var memories = []string{"fulcrum-checkpoints", "fulcrum-memberships"}

func (r *run) takeOver(ctx context.Context, note func(string, ...any)) error {
	// The Ingress stays as it is if there is one: another scheme would replace its load balancer.
	if name, err := r.ofIngress("web")(ctx); err != nil || name == "" {
		if _, err := r.web(ctx); err != nil {
			return err
		}
	}
	if err := r.settled(ctx); err != nil {
		return err
	}
	r.stopController()
	for _, name := range memories {
		if err := r.kube.CoreV1().Secrets(r.state.Run).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	want, err := inspect.CountBindings(ctx, r.dynamic, r.state.Run)
	if err != nil {
		return err
	}
	_, before := r.proxy.count()
	if err := r.startController(ctx); err != nil {
		return err
	}
	err = r.until(ctx, "the controller has looked at everything", func(ctx context.Context) error {
		n, err := r.runs(ctx)
		if err == nil && n <= want {
			err = fmt.Errorf("it has made %d runs", n)
		}
		return err
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
	}
	if _, after := r.proxy.count(); after != before {
		return fmt.Errorf("%d calls changed AWS; calls.jsonl has them", after-before)
	}
	note("no call changed AWS")
	return nil
}

// quiet is how long nothing is changed by a controller that has nothing left to do.
const quiet = 15 * time.Second

// settled waits until the controller has changed nothing in AWS for a while.
func (r *run) settled(ctx context.Context) error {
	_, last := r.proxy.count()
	since := time.Now()
	return r.until(ctx, "the controller has nothing left to do", func(context.Context) error {
		if _, now := r.proxy.count(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return errors.New("it changes AWS")
		}
		return nil
	})
}

// runLine is a line of the controller's metrics.
var runLine = regexp.MustCompile(`(?m)^controller_runtime_reconcile_total{[^}]*} (\d+)$`)

// runs counts those that the controller has made.
func (r *run) runs(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, m := range runLine.FindAllSubmatch(text, -1) {
		count, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return 0, err
		}
		n += count
	}
	return n, nil
}
