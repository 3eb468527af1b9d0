package cloud_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestAcceleratorsOfEndpointAreFoundDuringADeletion checks that the accelerators with an endpoint are found although a listener
// is deleted between two calls of the read, be it of one of them or of another accelerator.
func TestAcceleratorsOfEndpointAreFoundDuringADeletion(t *testing.T) {
	r := newHarness(t)
	api := ga.NewFromConfig(aws.Config{Region: region, HTTPClient: r.em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")})
	endpoint := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{}))(t).AllocationId
	var want []string
	for _, name := range []string{"one", "two"} {
		in := &ga.CreateAcceleratorInput{Name: &name, IdempotencyToken: &name}
		for k, v := range naming.AcceleratorTrackingTags(cluster, region, model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: name}) {
			in.Tags = append(in.Tags, gatypes.Tag{Key: aws.String(k), Value: aws.String(v)})
		}
		arn := must(api.CreateAccelerator(r.ctx, in))(t).Accelerator.AcceleratorArn
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
