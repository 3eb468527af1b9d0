package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestCleanFindsLeftoversOfTests checks that PooledWorld.Clean returns an error if a test has left AWS resources, finalizers
// or changed nodes in a local world, and that the local world can be released after they are removed.
func TestCleanFindsLeftoversOfTests(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	l, err := worldPool.Acquire(t.Context(), world.Options{Binary: worldtest.BinaryPath(t)})
	if err != nil {
		t.Fatal(err)
	}
	s := &scriptCluster{ctx: t.Context(), Scenario: &scenario.Scenario{World: l.World}}
	balancing, accounts := elb.NewFromConfig(l.AWSConfig()), l.KubeClient().CoreV1().ServiceAccounts("default")
	certificates := acm.NewFromConfig(l.AWSConfig())
	var group *elb.CreateTargetGroupOutput
	var certificate *acm.RequestCertificateOutput
	for _, c := range []struct {
		want       string
		leave, end func(context.Context) error
	}{
		{
			"left in AWS: target group left",
			func(ctx context.Context) (err error) {
				group, err = balancing.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{
					Name: aws.String("left"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: aws.String(l.Layout().VPC),
				})
				return err
			},
			func(ctx context.Context) error {
				_, err := balancing.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: group.TargetGroups[0].TargetGroupArn})
				return err
			},
		},
		{
			"left in AWS: certificate left.test",
			func(ctx context.Context) (err error) {
				certificate, err = certificates.RequestCertificate(ctx, &acm.RequestCertificateInput{
					DomainName: aws.String("left.test"), KeyAlgorithm: acmtypes.KeyAlgorithmEcPrime256v1, ValidationMethod: acmtypes.ValidationMethodDns,
				})
				return err
			},
			func(ctx context.Context) error {
				_, err := certificates.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: certificate.CertificateArn})
				return err
			},
		},
		{
			"serviceaccounts default/left has finalizers service.k8s.aws/resources",
			func(ctx context.Context) error {
				_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "left", Finalizers: []string{"service.k8s.aws/resources"}}}, metav1.CreateOptions{})
				return err
			},
			func(ctx context.Context) error {
				_, err := accounts.Patch(ctx, "left", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				return err
			},
		},
		{
			"nodes node-1 was ",
			func(context.Context) error { return s.setUnschedulable("node-1", true) },
			func(context.Context) error { return s.setUnschedulable("node-1", false) },
		},
	} {
		if err := c.leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		limit := time.Second // one check may take longer on a busy machine
		worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error {
			limit *= 2
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			if err := l.Clean(ctx); err == nil || !strings.Contains(err.Error(), c.want) {
				return fmt.Errorf("got %v, want %q", err, c.want)
			}
			return nil
		})
		if err := c.end(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
