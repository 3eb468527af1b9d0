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

// addressAssigner assigns the addresses of pods to the ENI of their node in AWS. Its methods are idempotent.
type addressAssigner interface {
	Assign(ctx context.Context, n layout.Node, a netip.Addr) error
	Unassign(ctx context.Context, n layout.Node, a netip.Addr) error
}

// newAddressAssigner returns an ec2AddressAssigner, or a noAddressAssigner if the local world has no AWS.
func newAddressAssigner(l layout.Layout) addressAssigner {
	if l.AWS == "" {
		return noAddressAssigner{}
	}
	return &ec2AddressAssigner{ec2.NewFromConfig(awsclient.Config(l.AWS, l.Region))}
}

// noAddressAssigner is the assigner of a local world without AWS.
type noAddressAssigner struct{}

func (noAddressAssigner) Assign(context.Context, layout.Node, netip.Addr) error   { return nil }
func (noAddressAssigner) Unassign(context.Context, layout.Node, netip.Addr) error { return nil }

// ec2AddressAssigner does what the VPC CNI plugin does: it makes addresses of pods secondary addresses of their node's ENI.
type ec2AddressAssigner struct{ ec2 *ec2.Client }

func (m *ec2AddressAssigner) Assign(ctx context.Context, n layout.Node, a netip.Addr) error {
	_, err := m.ec2.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{
		NetworkInterfaceId: aws.String(n.ENI),
		PrivateIpAddresses: []string{a.String()},
	})
	if err == nil {
		return nil
	}
	if has, lookErr := m.hasAddress(ctx, n, a); lookErr == nil && has {
		return nil
	}
	return err
}

func (m *ec2AddressAssigner) Unassign(ctx context.Context, n layout.Node, a netip.Addr) error {
	_, err := m.ec2.UnassignPrivateIpAddresses(ctx, &ec2.UnassignPrivateIpAddressesInput{
		NetworkInterfaceId: aws.String(n.ENI),
		PrivateIpAddresses: []string{a.String()},
	})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "InvalidNetworkInterfaceID.NotFound" {
		return nil // The ENI no longer exists, so it has no addresses.
	}
	if err == nil {
		return nil
	}
	if has, lookErr := m.hasAddress(ctx, n, a); lookErr == nil && !has {
		return nil
	}
	return err
}

func (m *ec2AddressAssigner) hasAddress(ctx context.Context, n layout.Node, a netip.Addr) (bool, error) {
	out, err := m.ec2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{
		NetworkInterfaceIds: []string{n.ENI},
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
