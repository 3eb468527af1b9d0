package agent

import (
	"context"
	"errors"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// mirror assigns the addresses of pods to the ENI of their node in AWS. Its methods are idempotent.
type mirror interface {
	Assign(ctx context.Context, n layout.Node, a netip.Addr) error
	Unassign(ctx context.Context, n layout.Node, a netip.Addr) error
}

// newMirror returns noMirror if the local world has no AWS.
func newMirror(l layout.Layout) mirror {
	if l.AWS == "" {
		return noMirror{}
	}
	return &ec2Mirror{ec2.NewFromConfig(awsclient.Config(l.AWS, l.Region))}
}

// noMirror is the mirror of a world without AWS.
type noMirror struct{}

func (noMirror) Assign(context.Context, layout.Node, netip.Addr) error   { return nil }
func (noMirror) Unassign(context.Context, layout.Node, netip.Addr) error { return nil }

// ec2Mirror does what the VPC CNI plugin does: it makes addresses of pods secondary addresses of their node's ENI.
type ec2Mirror struct{ ec2 *ec2.Client }

func (m *ec2Mirror) Assign(ctx context.Context, n layout.Node, a netip.Addr) error {
	_, err := m.ec2.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{
		NetworkInterfaceId: aws.String(n.Interface),
		PrivateIpAddresses: []string{a.String()},
	})
	if err == nil {
		return nil
	}
	if has, lookErr := m.has(ctx, n, a); lookErr == nil && has {
		return nil
	}
	return err
}

func (m *ec2Mirror) Unassign(ctx context.Context, n layout.Node, a netip.Addr) error {
	_, err := m.ec2.UnassignPrivateIpAddresses(ctx, &ec2.UnassignPrivateIpAddressesInput{
		NetworkInterfaceId: aws.String(n.Interface),
		PrivateIpAddresses: []string{a.String()},
	})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "InvalidNetworkInterfaceID.NotFound" {
		return nil // The instance is gone, and its addresses with it.
	}
	if err == nil {
		return nil
	}
	if has, lookErr := m.has(ctx, n, a); lookErr == nil && !has {
		return nil
	}
	return err
}

func (m *ec2Mirror) has(ctx context.Context, n layout.Node, a netip.Addr) (bool, error) {
	out, err := m.ec2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{
		NetworkInterfaceIds: []string{n.Interface},
	})
	if err != nil {
		return false, err
	}
	for _, eni := range out.NetworkInterfaces {
		for _, p := range eni.PrivateIpAddresses {
			if aws.ToString(p.PrivateIpAddress) == a.String() {
				return true, nil
			}
		}
	}
	return false, nil
}
