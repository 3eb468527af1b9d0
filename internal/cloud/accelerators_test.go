package cloud_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/checks"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestAcceleratorsOfEndpointAreFoundDuringADeletion checks that the accelerators with an endpoint are found although a listener
// is deleted between two calls of the read, be it of one of them or of another accelerator.
func TestAcceleratorsOfEndpointAreFoundDuringADeletion(t *testing.T) {
	r := newHarness(t)
	api := acceleratorAPI(r)
	endpoint := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{}))(t).AllocationId
	var want []string
	for _, name := range []string{"one", "two"} {
		arn := createAccelerator(r, name, region)
		l := must(api.CreateListener(r.ctx, &ga.CreateListenerInput{
			AcceleratorArn: arn, IdempotencyToken: &name, Protocol: gatypes.ProtocolTcp, PortRanges: []gatypes.PortRange{{FromPort: aws.Int32(80), ToPort: aws.Int32(80)}},
		}))(t).Listener
		must(api.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{
			ListenerArn: l.ListenerArn, IdempotencyToken: &name, EndpointGroupRegion: aws.String(region), EndpointConfigurations: []gatypes.EndpointConfiguration{{EndpointId: endpoint}},
		}))(t)
		want = append(want, *arn)
	}
	slices.Sort(want)
	r.em.Faults().Add(fault.Rule{Operation: "ListEndpointGroups", Count: 1, Action: fault.Action{Error: &store.Error{Code: "ListenerNotFoundException", Status: 400, Message: "gone"}}})
	q := model.AskAcceleratorsOf{ARN: *endpoint}
	got, err := r.cloud.Observe(r.ctx, model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, []model.Question{q})
	if err != nil || !slices.Equal(got.Facts.Accelerators[q.ARN], want) {
		t.Errorf("accelerators %v, want %v: %v", got.Facts.Accelerators, want, err)
	}
}

// acceleratorAPI returns a client of the Global Accelerator API of the emulator.
func acceleratorAPI(r *harness) *ga.Client {
	return ga.NewFromConfig(aws.Config{Region: region, HTTPClient: r.em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")})
}

// createAccelerator creates an accelerator with the tags of a GlobalAccelerator in the cluster of a region, and returns its ARN.
func createAccelerator(r *harness, name, of string) *string {
	in := &ga.CreateAcceleratorInput{Name: &name, IdempotencyToken: &name}
	for k, v := range naming.AcceleratorTrackingTags(cluster, of, model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: name}) {
		in.Tags = append(in.Tags, gatypes.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	return must(acceleratorAPI(r).CreateAccelerator(r.ctx, in))(r.t).Accelerator.AcceleratorArn
}

// TestSlowAcceleratorsAreThoseOfTheCluster checks that the accelerators of a cluster with the same name in another region count
// neither as accelerators of the cluster nor for the usage of its quotas.
func TestSlowAcceleratorsAreThoseOfTheCluster(t *testing.T) {
	r := newHarness(t)
	createAccelerator(r, "own", region)
	createAccelerator(r, "other", "us-east-1")
	got, err := checks.New(r.cloud).ReadAccelerators(r.ctx, r.clock.Now().Add(time.Hour))
	if err != nil || len(got.Slow) != 1 || got.Slow[0].Name != "own" {
		t.Errorf("slow accelerators %v, error %v", got.Slow, err)
	}
	for _, u := range got.Usage {
		if u.Resource == "other" || u.Name == "accelerators" && u.Used != 2 {
			t.Errorf("usage %+v", u)
		}
	}
}
