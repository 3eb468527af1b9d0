package world_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// testAWSAgreesWithCluster checks that each node is an instance in AWS, and that the addresses of pods are the secondary
// addresses of the nodes' ENIs. It checks the addresses also after pods are created and deleted, and after an outage of AWS.
// It also checks that ACM lists the two default certificates.
func testAWSAgreesWithCluster(t *testing.T, w *world.World) {
	c := &clusterTest{t: t, w: w}
	client := ec2.NewFromConfig(w.AWSConfig())

	nodes, err := w.KubeClient().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		out, err := client.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{
			Filters: []types.Filter{{Name: aws.String("tag:Name"), Values: []string{n.Name}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Reservations) != 1 || len(out.Reservations[0].Instances) != 1 {
			t.Fatalf("%s: %d reservations", n.Name, len(out.Reservations))
		}
		i := out.Reservations[0].Instances[0]
		provider := fmt.Sprintf("aws:///%s/%s", aws.ToString(i.Placement.AvailabilityZone), aws.ToString(i.InstanceId))
		if n.Spec.ProviderID != provider {
			t.Errorf("%s has provider ID %s, want %s", n.Name, n.Spec.ProviderID, provider)
		}
		if ip := n.Status.Addresses[0].Address; ip != aws.ToString(i.PrivateIpAddress) {
			t.Errorf("%s has address %s, the instance %s", n.Name, ip, aws.ToString(i.PrivateIpAddress))
		}
		if zone := n.Labels["topology.kubernetes.io/zone"]; zone != aws.ToString(i.Placement.AvailabilityZone) {
			t.Errorf("%s is labelled with zone %s, the instance is in %s", n.Name, zone, aws.ToString(i.Placement.AvailabilityZone))
		}
	}
	certs, err := acm.NewFromConfig(w.AWSConfig()).ListCertificates(t.Context(), &acm.ListCertificatesInput{})
	if err != nil {
		t.Fatal(err)
	}
	if len(certs.CertificateSummaryList) != 2 {
		t.Errorf("ACM lists %d certificates, want 2", len(certs.CertificateSummaryList))
	}

	// secondary returns the sorted secondary addresses of all nodes' ENIs in AWS.
	secondary := func(ctx context.Context) ([]string, error) {
		var out []string
		for _, n := range w.Layout().Nodes {
			enis, err := client.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{n.ENI}})
			if err != nil {
				return nil, err
			}
			for _, eni := range enis.NetworkInterfaces {
				for _, p := range eni.PrivateIpAddresses {
					if !aws.ToBool(p.Primary) {
						out = append(out, aws.ToString(p.PrivateIpAddress))
					}
				}
			}
		}
		slices.Sort(out)
		return out, nil
	}
	agree := func(pods int) {
		t.Helper()
		running := c.awaitRunningPods("app=web", pods)
		var want []string
		for _, p := range running {
			want = append(want, p.Status.PodIP)
		}
		slices.Sort(want)
		worldtest.Eventually(t, hangTimeout, func(ctx context.Context) error {
			got, err := secondary(ctx)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("AWS has %v, the cluster %v", got, want)
			}
			return err
		})
	}
	c.apply(webManifest)
	agree(3)
	pods := c.awaitRunningPods("app=web", 3)
	if err := w.KubeClient().CoreV1().Pods("default").Delete(t.Context(), pods[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	agree(3)

	if err := w.Kill(world.RoleAWS); err != nil {
		t.Fatal(err)
	}
	if err := w.KubeClient().CoreV1().Pods("default").Delete(t.Context(), pods[1].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.StartRole(t.Context(), world.RoleAWS); err != nil {
		t.Fatal(err)
	}
	agree(3)
}
