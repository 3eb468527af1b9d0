package acceptance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
)

// clean removes everything: first what the controller has to remove in AWS, then the rest. What it could not remove is
// in state.Left. An error says that it has to go on later.
func (r *run) clean(ctx context.Context) error {
	r.proxy.begin("remove")
	r.say("remove: all that the run has made")
	if err := r.removeServed(ctx); err != nil {
		if errors.Is(err, errCut) || errors.Is(err, errInterrupted) {
			return err
		}
		r.say("  %v", err)
	}
	r.stopController()
	left, err := r.leftInAWS(ctx)
	if err != nil {
		return err
	}
	// What is here the controller should have removed; the report says so, and nothing of it shall cost money.
	for _, x := range left {
		r.state.Left = append(r.state.Left, x.name)
		r.say("  left by the controller, and removed now: %s", x.name)
	}
	if err := r.until(ctx, "all tagged resources are gone from AWS", func(ctx context.Context) error { return r.removeLeft(ctx) }); err != nil {
		return err
	}
	if err := r.untagGroups(ctx); err != nil {
		return err
	}
	if err := r.removeObjects(ctx); err != nil {
		return err
	}
	r.state.Done = true
	r.say("  nothing is left")
	return r.save()
}

// served are the kinds for which the controller has made something, in the order in which their objects are deleted.
var served = []schema.GroupVersionResource{
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	{Version: "v1", Resource: "services"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
	gateways,
	{Group: "gateway.k8s.aws", Version: "v1", Resource: "loadbalancerconfigurations"},
	gatewayClasses,
}

var (
	gateways       = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	gatewayClasses = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gatewayclasses"}
	// bindings are deleted by the controller alone.
	bindings = schema.GroupVersionResource{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"}
)

// removeServed deletes objects while the controller runs, and waits until it has let go of them.
func (r *run) removeServed(ctx context.Context) error {
	if err := r.revive(ctx); err != nil {
		return err
	}
	for _, kind := range served {
		list, err := r.list(ctx, kind)
		if err != nil {
			return err
		}
		if err := r.applier.Delete(ctx, list); err != nil {
			return err
		}
		// A configuration or class stays as long as a Gateway uses it.
		if kind == gateways {
			if err := r.gone(ctx, kind); err != nil {
				return err
			}
		}
	}
	for _, kind := range append(slices.Clone(served), bindings) {
		if err := r.gone(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) gone(ctx context.Context, kind schema.GroupVersionResource) error {
	return r.until(ctx, "all "+kind.Resource+" are gone", func(ctx context.Context) error {
		list, err := r.list(ctx, kind)
		if err == nil && len(list) > 0 {
			err = fmt.Errorf("%s is still there", manifest.Name(list[0]))
		}
		return err
	})
}

// list lists the objects of the run of a kind. Definitions that are missing were never made, or are removed already.
func (r *run) list(ctx context.Context, kind schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	opts := metav1.ListOptions{}
	namespace := r.state.Run
	if kind == gatewayClasses {
		opts.LabelSelector, namespace = runTag+"="+r.state.Run, ""
	}
	list, err := r.dynamic.Resource(kind).Namespace(namespace).List(ctx, opts)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// removeObjects deletes the namespace, and the definitions that the run has installed and nothing uses.
func (r *run) removeObjects(ctx context.Context) error {
	namespaces := r.kube.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, r.state.Run, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", r.state.Run, err)
	}
	err := r.until(ctx, "namespace "+r.state.Run+" is gone", func(ctx context.Context) error {
		_, err := namespaces.Get(ctx, r.state.Run, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			err = errors.New("it is still there")
		}
		return err
	})
	if err != nil {
		return err
	}
	list, err := definitions()
	if err != nil {
		return err
	}
	for _, u := range list {
		if !slices.Contains(r.state.Definitions, u.GetName()) {
			continue
		}
		used, err := r.used(ctx, u)
		if err != nil {
			return err
		}
		if used {
			r.say("  %s stays: others have made objects of it meanwhile", manifest.Name(u))
			continue
		}
		if err := r.applier.Delete(ctx, []*unstructured.Unstructured{u}); err != nil {
			return err
		}
	}
	return nil
}

// used reports whether there are objects of a definition.
func (r *run) used(ctx context.Context, definition *unstructured.Unstructured) (bool, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		m, _ := v.(map[string]any)
		if m["storage"] != true {
			continue
		}
		list, err := r.dynamic.Resource(schema.GroupVersionResource{Group: group, Version: fmt.Sprint(m["name"]), Resource: plural}).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && len(list.Items) > 0, err
	}
	return false, nil
}

// leftover is a resource in AWS with the run's tag.
type leftover struct {
	name   string
	delete func(context.Context) error
}

// leftInAWS asks AWS itself, not the controller, for what has the run's tag; load balancers first.
func (r *run) leftInAWS(ctx context.Context) ([]leftover, error) {
	lb, group := elbv2.NewFromConfig(r.proxy.config()), ec2.NewFromConfig(r.proxy.config())
	var out []leftover
	tagged := func(arns []string, delete func(ctx context.Context, arn string) error) error {
		for chunk := range slices.Chunk(arns, 20) {
			tags, err := lb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: chunk})
			if err != nil {
				return err
			}
			for _, d := range tags.TagDescriptions {
				for _, t := range d.Tags {
					if arn := aws.ToString(d.ResourceArn); aws.ToString(t.Key) == runTag && aws.ToString(t.Value) == r.state.Run {
						out = append(out, leftover{arn, func(ctx context.Context) error { return delete(ctx, arn) }})
					}
				}
			}
		}
		return nil
	}
	var arns []string
	balancers := elbv2.NewDescribeLoadBalancersPaginator(lb, &elbv2.DescribeLoadBalancersInput{})
	for balancers.HasMorePages() {
		page, err := balancers.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range page.LoadBalancers {
			arns = append(arns, aws.ToString(b.LoadBalancerArn))
		}
	}
	err := tagged(arns, func(ctx context.Context, arn string) error {
		_, err := lb.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
		return err
	})
	if err != nil {
		return nil, err
	}
	arns = nil
	groups := elbv2.NewDescribeTargetGroupsPaginator(lb, &elbv2.DescribeTargetGroupsInput{})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.TargetGroups {
			arns = append(arns, aws.ToString(g.TargetGroupArn))
		}
	}
	err = tagged(arns, func(ctx context.Context, arn string) error {
		_, err := lb.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &arn})
		return err
	})
	if err != nil {
		return nil, err
	}
	security, err := group.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{{Name: aws.String("tag:" + runTag), Values: []string{r.state.Run}}}})
	if err != nil {
		return nil, err
	}
	for _, g := range security.SecurityGroups {
		out = append(out, leftover{"security group " + aws.ToString(g.GroupId), func(ctx context.Context) error {
			_, err := group.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: g.GroupId})
			return err
		}})
	}
	more, err := r.leftCertificates(ctx)
	return append(out, more...), err
}

// leftCertificates are those of ACM.
func (r *run) leftCertificates(ctx context.Context) ([]leftover, error) {
	api := acm.NewFromConfig(r.proxy.config())
	var out []leftover
	pages := acm.NewListCertificatesPaginator(api, &acm.ListCertificatesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range page.CertificateSummaryList {
			if !strings.HasSuffix(aws.ToString(c.DomainName), ".acceptance.test") {
				continue
			}
			tags, err := api.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: c.CertificateArn})
			if err != nil {
				return nil, err
			}
			for _, t := range tags.Tags {
				if aws.ToString(t.Key) == runTag && aws.ToString(t.Value) == r.state.Run {
					out = append(out, leftover{aws.ToString(c.CertificateArn), func(ctx context.Context) error {
						_, err := api.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: c.CertificateArn})
						return err
					}})
				}
			}
		}
	}
	return out, nil
}

// removeLeft deletes what AWS lets it delete, and is an error until nothing is left.
func (r *run) removeLeft(ctx context.Context) error {
	left, err := r.leftInAWS(ctx)
	if err != nil || len(left) == 0 {
		return err
	}
	var all []error
	for _, x := range left {
		if err := x.delete(ctx); err != nil {
			all = append(all, fmt.Errorf("%s: %w", x.name, err))
		}
	}
	return errors.Join(append(all, fmt.Errorf("%d resources are left", len(left)))...)
}

// tagGroups gives security groups of nodes the tag of the run's cluster.
func (r *run) tagGroups(ctx context.Context) error {
	if len(r.state.Tagged) == 0 {
		return nil
	}
	_, err := ec2.NewFromConfig(r.proxy.config()).CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: r.state.Tagged, Tags: []types.Tag{{Key: aws.String(clusterTag + r.state.Run), Value: aws.String("shared")}},
	})
	return err
}

func (r *run) untagGroups(ctx context.Context) error {
	if len(r.state.Tagged) == 0 {
		return nil
	}
	_, err := ec2.NewFromConfig(r.proxy.config()).DeleteTags(ctx, &ec2.DeleteTagsInput{
		Resources: r.state.Tagged, Tags: []types.Tag{{Key: aws.String(clusterTag + r.state.Run)}},
	})
	var answer smithy.APIError
	if errors.As(err, &answer) && answer.ErrorCode() == "InvalidGroup.NotFound" {
		return nil
	}
	return err
}
