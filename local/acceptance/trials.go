package acceptance

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
)

// awaitHostname waits until read returns the DNS name of a load balancer that differs from previous, and returns the
// name. The text in what names the object in errors.
func (r *partRun) awaitHostname(ctx context.Context, what string, previous string, read func(context.Context) (string, error)) (string, error) {
	var name string
	err := r.awaitSuccess(ctx, "the status of "+what+" shows a load balancer", func(ctx context.Context) (err error) {
		if name, err = read(ctx); err == nil && (name == "" || name == previous) {
			err = fmt.Errorf("the status shows %q", name)
		}
		return err
	})
	return name, err
}

func (r *partRun) ingressHostname(name string) func(context.Context) (string, error) {
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

// applyWebIngress applies the Ingress "web" and waits until pods respond.
func (r *partRun) applyWebIngress(ctx context.Context) (string, error) {
	if err := r.apply(ctx, "ingress", "internet-facing"); err != nil {
		return "", err
	}
	name, err := r.awaitHostname(ctx, "Ingress web", "", r.ingressHostname("web"))
	if err != nil {
		return "", err
	}
	return name, r.awaitResponses(ctx, name, webURL+"some/path", nil, checkPodResponse)
}

func (r *partRun) testIngress(ctx context.Context) error {
	name, err := r.applyWebIngress(ctx)
	if err != nil {
		return err
	}
	r.addObservation("answered by pods")
	err = r.awaitResponses(ctx, name, webURL+"teapot", nil, func(a reply) error {
		if a.status != http.StatusTeapot || a.body != "teapot" {
			return errors.New("want 418 with its text")
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.addObservation("answered by a fixed response")
	return r.awaitResponses(ctx, name, "http://other.acceptance.test/", nil, func(a reply) error {
		if a.status != http.StatusNotFound {
			return errors.New("want 404 for a host that no rule has")
		}
		return nil
	})
}

func (r *partRun) testService(ctx context.Context) error {
	if err := r.apply(ctx, "service", ""); err != nil {
		return err
	}
	name, err := r.awaitHostname(ctx, "Service streams", "", func(ctx context.Context) (string, error) {
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
	if err := r.awaitResponses(ctx, name, "http://streams.acceptance.test/", nil, checkPodResponse); err != nil {
		return err
	}
	r.addObservation("answered by pods, through nodes")
	return nil
}

func (r *partRun) testGateway(ctx context.Context) error {
	if err := r.apply(ctx, "gateway", ""); err != nil {
		return err
	}
	gateway := &unstructured.Unstructured{}
	gateway.SetAPIVersion("gateway.networking.k8s.io/v1")
	gateway.SetKind("Gateway")
	gateway.SetName("edge")
	gateway.SetNamespace(r.state.Run)
	name, err := r.awaitHostname(ctx, "Gateway edge", "", func(ctx context.Context) (string, error) {
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
	if err := r.awaitResponses(ctx, name, "http://edge.acceptance.test/new", nil, checkPodResponse); err != nil {
		return err
	}
	r.addObservation("answered by pods")
	return r.awaitResponses(ctx, name, "http://edge.acceptance.test/old", nil, func(a reply) error {
		if a.status != http.StatusMovedPermanently {
			return errors.New("want 301")
		}
		return nil
	})
}

func (r *partRun) testTLSSecret(ctx context.Context) error {
	roots := x509.NewCertPool()
	var both [2]certificate
	for i := range both {
		var err error
		if both[i], err = newCertificate(); err != nil {
			return err
		}
		roots.AppendCertsFromPEM(both[i].cert)
	}
	if err := r.writeTLSSecret(ctx, both[0]); err != nil {
		return err
	}
	if err := r.apply(ctx, "tls", ""); err != nil {
		return err
	}
	name, err := r.awaitHostname(ctx, "Ingress secure", "", r.ingressHostname("secure"))
	if err != nil {
		return err
	}
	shows := func(want certificate) func(reply) error {
		return func(a reply) error {
			if a.certificate != want.serial {
				return errors.New("want the certificate of the Secret")
			}
			return checkPodResponse(a)
		}
	}
	const url = "https://" + secureHost + "/"
	if err := r.awaitResponses(ctx, name, url, roots, shows(both[0])); err != nil {
		return err
	}
	r.addObservation("the certificate of the Secret is shown")
	load := r.requester.startTraffic(ctx, name, url, roots)
	err = r.writeTLSSecret(ctx, both[1])
	if err == nil {
		err = r.awaitResponses(ctx, name, url, roots, shows(both[1]))
	}
	text, failed := load.finish()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	r.addObservation("renewed: %s", text)
	return nil
}

func (r *partRun) testDrift(ctx context.Context) error {
	name, err := r.applyWebIngress(ctx)
	if err != nil {
		return err
	}
	api := elbv2.NewFromConfig(r.proxy.config())
	rule, err := r.fixedResponseRule(ctx, api, name)
	if err != nil {
		return err
	}
	if _, err := api.DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: &rule}); err != nil {
		return err
	}
	began := time.Now()
	gone := r.awaitSuccess(ctx, "the rule is deleted", func(ctx context.Context) error {
		a, err := r.requester.request(ctx, name, webURL+"teapot", nil)
		if err == nil && a.status == http.StatusTeapot {
			err = errors.New("the deleted rule still answers")
		}
		return err
	})
	if gone != nil {
		return gone
	}
	err = r.awaitResponses(ctx, name, webURL+"teapot", nil, func(a reply) error {
		if a.status != http.StatusTeapot {
			return errors.New("want 418")
		}
		return nil
	})
	if err == nil {
		r.addObservation("a deleted rule answers again after %s", time.Since(began).Round(time.Second))
	}
	return err
}

// fixedResponseRule returns the ARN of a rule with a fixed response. dns is the DNS name of the load balancer.
func (r *partRun) fixedResponseRule(ctx context.Context, api *elbv2.Client, dns string) (string, error) {
	lb, err := r.loadBalancerARN(ctx, api, dns)
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

var errNoLoadBalancer = errors.New("AWS has no load balancer")

// loadBalancerARN returns the ARN of the load balancer with a DNS name.
func (r *partRun) loadBalancerARN(ctx context.Context, api *elbv2.Client, dns string) (string, error) {
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
	return "", fmt.Errorf("%w %s", errNoLoadBalancer, dns)
}

func (r *partRun) testReplacement(ctx context.Context) error {
	before, err := r.applyWebIngress(ctx)
	if err != nil {
		return err
	}
	load := r.requester.startTraffic(ctx, before, webURL, nil)
	if err := r.apply(ctx, "ingress", "internal"); err != nil {
		_, _ = load.finish()
		return err
	}
	name, err := r.awaitHostname(ctx, "Ingress web", before, r.ingressHostname("web"))
	text, failed := load.finish()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	r.addObservation("until the status showed the new load balancer: %s", text)
	api := elbv2.NewFromConfig(r.proxy.config())
	if _, err := r.loadBalancerARN(ctx, api, name); err != nil {
		return err
	}
	began := time.Now()
	err = r.awaitSuccess(ctx, "the old load balancer is deleted", func(ctx context.Context) error {
		_, err := r.loadBalancerARN(ctx, api, before)
		switch {
		case errors.Is(err, errNoLoadBalancer):
			return nil
		case err == nil:
			err = errors.New("the old load balancer still exists")
		}
		return err
	})
	if err == nil {
		r.addObservation("the old load balancer was deleted %s later", time.Since(began).Round(time.Second))
	}
	return err
}

// storedStateSecrets are the Secrets in which a controller stores state for the controller that runs after it.
var storedStateSecrets = []string{kube.CheckpointsName, kube.MembershipsName}

func (r *partRun) testTakeOver(ctx context.Context) error {
	// Do not apply the Ingress if it has a load balancer, because a different scheme would replace the load
	// balancer.
	if name, err := r.ingressHostname("web")(ctx); err != nil || name == "" {
		if _, err := r.applyWebIngress(ctx); err != nil {
			return err
		}
	}
	if err := awaitNoChanges(ctx, r.run); err != nil {
		return err
	}
	r.controller.stop()
	for _, name := range storedStateSecrets {
		if err := r.kube.CoreV1().Secrets(r.state.Run).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	want, err := inspect.CountBindings(ctx, r.dynamic, r.state.Run)
	if err != nil {
		return err
	}
	before := r.proxy.countChanges()
	if err := r.startController(ctx); err != nil {
		return err
	}
	err = r.awaitSuccess(ctx, "the controller has reconciled everything", func(ctx context.Context) error {
		n, err := r.controller.reconcileCount(ctx)
		if err == nil && n <= want {
			err = fmt.Errorf("the controller has made %d reconciles", n)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := awaitNoChanges(ctx, r.run); err != nil {
		return err
	}
	if after := r.proxy.countChanges(); after != before {
		return fmt.Errorf("%d calls changed AWS; recording.json has them", after-before)
	}
	r.addObservation("no call changed AWS")
	return nil
}

// noChangesPeriod is how long a controller must make no changes in AWS until awaitNoChanges returns.
const noChangesPeriod = 15 * time.Second

// awaitNoChanges waits until the controller has not changed AWS for noChangesPeriod.
func awaitNoChanges(ctx context.Context, r *run) error {
	last := r.proxy.countChanges()
	since := time.Now()
	return r.awaitSuccess(ctx, "the controller has nothing left to do", func(context.Context) error {
		if now := r.proxy.countChanges(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < noChangesPeriod {
			return errors.New("the controller still changes AWS")
		}
		return nil
	})
}
