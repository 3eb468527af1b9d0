package ec2_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestInstanceLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ctx := newHarness(t), t.Context()
		c.withPartition(func(p *store.Partition) {
			p.Store().Config.Delays.Instance = 10 * time.Second
			p.Store().Config.Delays.TerminatedVisible = time.Hour
		})
		vpc := c.createVPC("10.0.0.0/16")
		subnet, g := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2b"), c.createSecurityGroup(vpc, "nodes")
		i := c.launchInstances(subnet, 1, g)[0]
		id := *i.InstanceId
		state := func() string {
			out, err := c.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
			return string(must(t, out, err).Reservations[0].Instances[0].State.Name)
		}
		step := func(want string, after time.Duration) {
			t.Helper()
			time.Sleep(after)
			if got := state(); got != want {
				t.Errorf("want %s, got %s", want, got)
			}
		}
		if i.State.Name != types.InstanceStateNamePending || *i.State.Code != 0 {
			t.Errorf("a new instance is %s, want pending", i.State.Name)
		}
		step("pending", 9*time.Second)
		step("running", time.Second)
		stop, err := c.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}})
		if ch := must(t, stop, err).StoppingInstances[0]; ch.PreviousState.Name != "running" || ch.CurrentState.Name != "stopping" {
			t.Errorf("%+v", ch)
		}
		step("stopping", 0)
		_, err = c.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}})
		checkCode(t, "IncorrectInstanceState", err)
		step("stopped", 10*time.Second)
		_, err = c.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}})
		checkCode(t, "", err)
		step("running", 10*time.Second)
		_, err = c.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
		checkCode(t, "", err)
		step("shutting-down", 0)
		step("terminated", 10*time.Second)
		time.Sleep(time.Hour)
		_, err = c.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
		checkCode(t, "InvalidInstanceID.NotFound", err)
	})
}

func TestInstanceNetwork(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	subnet, g := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2b"), c.createSecurityGroup(vpc, "nodes")
	launched := c.launchInstances(subnet, 2, g)
	var got []string
	for _, i := range launched {
		eni := i.NetworkInterfaces[0]
		got = append(got, fmt.Sprintf("%s %s %s %s %d", *i.PrivateIpAddress, *i.PrivateDnsName, *i.Placement.AvailabilityZone, *i.SecurityGroups[0].GroupName, *eni.Attachment.DeviceIndex))
	}
	slices.Sort(got)
	want := []string{
		"10.0.0.4 ip-10-0-0-4.us-west-2.compute.internal us-west-2b nodes 0",
		"10.0.0.5 ip-10-0-0-5.us-west-2.compute.internal us-west-2b nodes 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	count := func(filters ...types.Filter) int {
		out, err := c.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: filters})
		n := 0
		for _, r := range must(t, out, err).Reservations {
			n += len(r.Instances)
		}
		return n
	}
	for _, tc := range []struct {
		name, value string
		want        int
	}{
		{"private-ip-address", "10.0.0.4", 1}, {"private-dns-name", "ip-10-0-0-*", 2}, {"instance-state-name", "running", 2},
		{"instance-state-name", "stopped", 0}, {"vpc-id", vpc, 2}, {"subnet-id", subnet, 2}, {"availability-zone", "us-west-2a", 0},
		{"network-interface.group-id", g, 2}, {"network-interface.addresses.private-ip-address", "10.0.0.5", 1},
	} {
		if got := count(newFilter(tc.name, tc.value)); got != tc.want {
			t.Errorf("%s=%s: want %d, got %d", tc.name, tc.value, tc.want, got)
		}
	}
	subnets, err := c.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}})
	if n := *must(t, subnets, err).Subnets[0].AvailableIpAddressCount; n != 249 {
		t.Errorf("want 249 free addresses (256 - 5 reserved - 2 in use), got %d", n)
	}
}

func TestRunInstancesRefusals(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	subnet, far := c.createSubnet(vpc, "10.0.0.0/28", "us-west-2a"), c.createSecurityGroup(c.createVPC("10.1.0.0/16"), "far")
	run := func(change func(*ec2.RunInstancesInput)) error {
		in := &ec2.RunInstancesInput{ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &subnet}
		change(in)
		_, err := c.RunInstances(ctx, in)
		return err
	}
	cases := map[string]struct {
		change func(*ec2.RunInstancesInput)
		want   string
	}{
		"more instances than free addresses": {func(in *ec2.RunInstancesInput) { in.MinCount, in.MaxCount = aws.Int32(12), aws.Int32(12) }, "InsufficientFreeAddressesInSubnet"},
		"security group of another VPC":      {func(in *ec2.RunInstancesInput) { in.SecurityGroupIds = []string{far} }, "InvalidGroup.NotFound"},
		"unknown subnet":                     {func(in *ec2.RunInstancesInput) { in.SubnetId = aws.String("subnet-0123456789abcdef0") }, "InvalidSubnetID.NotFound"},
		"reserved address":                   {func(in *ec2.RunInstancesInput) { in.PrivateIpAddress = aws.String("10.0.0.1") }, "InvalidParameterValue"},
		"MinCount above MaxCount":            {func(in *ec2.RunInstancesInput) { in.MinCount = aws.Int32(2) }, "InvalidParameterValue"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			checkCode(t, tc.want, run(tc.change))
			c.withPartition(func(p *store.Partition) {
				if len(p.Instances) != 0 || len(p.NetworkInterfaces) != 0 {
					t.Errorf("a rejected launch left %d instances and %d ENIs", len(p.Instances), len(p.NetworkInterfaces))
				}
			})
		})
	}
	token := func(in *ec2.RunInstancesInput) { in.ClientToken = aws.String("once") }
	checkCode(t, "", run(token))
	checkCode(t, "", run(token))
	c.withPartition(func(p *store.Partition) {
		if len(p.Instances) != 1 {
			t.Errorf("one token launched %d instances", len(p.Instances))
		}
	})
	checkCode(t, "", run(func(in *ec2.RunInstancesInput) { in.MaxCount = aws.Int32(50) }))
	c.withPartition(func(p *store.Partition) {
		if len(p.Instances) != 11 {
			t.Errorf("want 11 instances (as many as the subnet has addresses), got %d", len(p.Instances))
		}
	})
	images, err := c.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"amazon"}})
	if len(must(t, images, err).Images) == 0 {
		t.Error("no image")
	}
	_, err = c.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{"ami-0"}})
	checkCode(t, "InvalidAMIID.NotFound", err)
}

func TestENILifecycle(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	subnet, g := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2a"), c.createSecurityGroup(vpc, "pods")
	node := *c.launchInstances(subnet, 1)[0].InstanceId
	created, err := c.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{
		SubnetId: &subnet, Groups: []string{g}, Description: aws.String("aws-K8S-" + node), SecondaryPrivateIpAddressCount: aws.Int32(2),
		TagSpecifications: tagSpecifications(types.ResourceTypeNetworkInterface, "node.k8s.amazonaws.com/instance_id", node),
	})
	eni := *must(t, created, err).NetworkInterface.NetworkInterfaceId
	if s := created.NetworkInterface.Status; s != types.NetworkInterfaceStatusAvailable {
		t.Errorf("a new ENI has status %s, want available", s)
	}
	attached, err := c.AttachNetworkInterface(ctx, &ec2.AttachNetworkInterfaceInput{NetworkInterfaceId: &eni, InstanceId: &node, DeviceIndex: aws.Int32(1)})
	attachment := must(t, attached, err).AttachmentId
	_, err = c.AttachNetworkInterface(ctx, &ec2.AttachNetworkInterfaceInput{NetworkInterfaceId: &eni, InstanceId: &node, DeviceIndex: aws.Int32(2)})
	checkCode(t, "InvalidParameterValue", err)
	_, err = c.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &eni})
	checkCode(t, "InvalidParameterValue", err)

	assign := func(ips ...string) error {
		_, err := c.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: &eni, PrivateIpAddresses: ips})
		return err
	}
	checkCode(t, "", assign("10.0.0.50", "10.0.0.51"))
	checkCode(t, "InvalidParameterValue", assign("10.0.0.52", "10.0.0.4"))
	checkCode(t, "InvalidParameterValue", assign("10.0.0.255"))
	checkCode(t, "InvalidParameterValue", assign("10.0.1.1"))
	_, err = c.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: &eni, Ipv4Prefixes: []string{"10.0.0.64/28"}})
	checkCode(t, "", err)
	_, err = c.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: &eni, SecondaryPrivateIpAddressCount: aws.Int32(300)})
	checkCode(t, "InsufficientFreeAddressesInSubnet", err)

	read := func(filters ...types.Filter) []string {
		out, err := c.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: filters})
		var addrs []string
		for _, e := range must(t, out, err).NetworkInterfaces {
			for _, a := range e.PrivateIpAddresses {
				addrs = append(addrs, *a.PrivateIpAddress)
			}
			for _, b := range e.Ipv4Prefixes {
				addrs = append(addrs, *b.Ipv4Prefix)
			}
		}
		return addrs
	}
	want := []string{"10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.50", "10.0.0.51", "10.0.0.64/28"}
	for name, f := range map[string]types.Filter{
		"a secondary address": newFilter("addresses.private-ip-address", "10.0.0.51"),
		"group":               newFilter("group-id", g),
		"description":         newFilter("description", "aws-K8S-*"),
		"tag":                 newFilter("tag:node.k8s.amazonaws.com/instance_id", node),
	} {
		if diff := cmp.Diff(want, read(f)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := read(newFilter("attachment.instance-id", node), newFilter("attachment.device-index", "1"), newFilter("status", "in-use")); len(got) != len(want) {
		t.Errorf("ENIs found by attachment: %v", got)
	}

	_, err = c.UnassignPrivateIpAddresses(ctx, &ec2.UnassignPrivateIpAddressesInput{NetworkInterfaceId: &eni, PrivateIpAddresses: []string{"10.0.0.5"}})
	checkCode(t, "InvalidParameterValue", err) // the primary address
	_, err = c.UnassignPrivateIpAddresses(ctx, &ec2.UnassignPrivateIpAddressesInput{NetworkInterfaceId: &eni, PrivateIpAddresses: []string{"10.0.0.50"}})
	checkCode(t, "", err)
	checkCode(t, "", assign("10.0.0.50"))

	_, err = c.AssignIpv6Addresses(ctx, &ec2.AssignIpv6AddressesInput{NetworkInterfaceId: &eni, Ipv6AddressCount: aws.Int32(1)})
	checkCode(t, "InvalidParameterValue", err) // the subnet has no IPv6 block

	_, err = c.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet, PrivateIpAddress: aws.String("10.0.0.4")})
	checkCode(t, "InvalidIPAddress.InUse", err)

	other := c.createSecurityGroup(vpc, "other")
	_, err = c.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: &eni, Groups: []string{other}})
	checkCode(t, "", err)
	if got := read(newFilter("group-id", other)); len(got) == 0 {
		t.Error("security groups did not change")
	}
	_, err = c.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: &eni, Groups: []string{"sg-0123456789abcdef0"}})
	checkCode(t, "InvalidGroup.NotFound", err)
	if got := read(newFilter("group-id", other)); len(got) == 0 {
		t.Error("a rejected change removed the security groups")
	}
	_, err = c.DetachNetworkInterface(ctx, &ec2.DetachNetworkInterfaceInput{AttachmentId: attachment})
	checkCode(t, "", err)
	_, err = c.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &eni})
	checkCode(t, "", err)
}

func TestSecurityGroupQuotaOfENI(t *testing.T) {
	c := newHarness(t)
	vpc := c.createVPC("10.0.0.0/16")
	subnet := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2a")
	var groups []string
	for i := range 6 {
		groups = append(groups, c.createSecurityGroup(vpc, fmt.Sprint("g", i)))
	}
	_, err := c.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet, Groups: groups})
	checkCode(t, "SecurityGroupsPerInterfaceLimitExceeded", err)
}

func TestLaunchOptionsOfENIAndMetadata(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	subnet := c.createSubnet(c.createVPC("10.0.0.0/16"), "10.0.0.0/24", "us-west-2a")
	for name, tc := range map[string]struct {
		option   *bool
		endpoint types.InstanceMetadataEndpointState
		want     int // number of ENIs that remain after the termination
	}{
		"not set": {nil, "", 0}, "true": {aws.Bool(true), "enabled", 0}, "false": {aws.Bool(false), "disabled", 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := c.RunInstances(ctx, &ec2.RunInstancesInput{
				ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
				NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &subnet, DeleteOnTermination: tc.option}},
				MetadataOptions:   &types.InstanceMetadataOptionsRequest{HttpEndpoint: tc.endpoint},
			})
			i := must(t, out, err).Instances[0]
			if got, want := *i.NetworkInterfaces[0].Attachment.DeleteOnTermination, tc.want == 0; got != want {
				t.Errorf("DeleteOnTermination %v, want %v", got, want)
			}
			if got := i.MetadataOptions.HttpEndpoint; (got == "disabled") != (tc.endpoint == "disabled") {
				t.Errorf("metadata endpoint %q, want %q", got, tc.endpoint)
			}
			_, err = c.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}})
			checkCode(t, "", err)
			left, err := c.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{newFilter("subnet-id", subnet)}})
			if n := len(must(t, left, err).NetworkInterfaces); n != tc.want {
				t.Errorf("%d ENIs remain, want %d", n, tc.want)
			}
			for _, e := range left.NetworkInterfaces {
				_, err := c.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: e.NetworkInterfaceId})
				checkCode(t, "", err)
			}
		})
	}
}

func TestReassignmentOfAddresses(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	subnet := c.createSubnet(c.createVPC("10.0.0.0/16"), "10.0.0.0/24", "us-west-2a")
	create := func(secondary ...types.PrivateIpAddressSpecification) *string {
		out, err := c.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet, PrivateIpAddresses: secondary})
		return must(t, out, err).NetworkInterface.NetworkInterfaceId
	}
	a, b := create(types.PrivateIpAddressSpecification{PrivateIpAddress: aws.String("10.0.0.20")}), create()
	owner := func(address string) string {
		out, err := c.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{newFilter("addresses.private-ip-address", address)}})
		if len(must(t, out, err).NetworkInterfaces) != 1 {
			t.Fatalf("%d ENIs have %s", len(out.NetworkInterfaces), address)
		}
		return *out.NetworkInterfaces[0].NetworkInterfaceId
	}
	assign := func(reassign bool, addresses ...string) error {
		_, err := c.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: b, PrivateIpAddresses: addresses, AllowReassignment: &reassign})
		return err
	}
	checkCode(t, "InvalidParameterValue", assign(false, "10.0.0.20"))
	checkCode(t, "InvalidParameterValue", assign(true, "10.0.0.20", "192.0.2.1"))
	if owner("10.0.0.20") != *a {
		t.Error("a rejected call moved an address")
	}
	checkCode(t, "", assign(true, "10.0.0.20"))
	if owner("10.0.0.20") != *b {
		t.Error("the address was not reassigned")
	}
}

func TestIPv6Prefixes(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	subnet := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2a")
	_, err := c.AssociateSubnetCidrBlock(ctx, &ec2.AssociateSubnetCidrBlockInput{SubnetId: &subnet, Ipv6CidrBlock: aws.String("2600:1f13:0:a00::/64")})
	checkCode(t, "", err)
	create := func(count int32, prefixes ...string) (*types.NetworkInterface, error) {
		in := &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet, Ipv6AddressCount: &count}
		for _, p := range prefixes {
			in.Ipv6Prefixes = append(in.Ipv6Prefixes, types.Ipv6PrefixSpecificationRequest{Ipv6Prefix: aws.String(p)})
		}
		out, err := c.CreateNetworkInterface(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.NetworkInterface, nil
	}
	_, err = create(0, "2600:1f13:0:a00::/80")
	checkCode(t, "", err)
	eni, err := create(1)
	if got := *must(t, eni, err).Ipv6Addresses[0].Ipv6Address; got != "2600:1f13:0:a00:1::" {
		t.Errorf("address %s, want the first one after the prefix of the other ENI", got)
	}
	for name, prefixes := range map[string][]string{
		"prefix of another ENI":  {"2600:1f13:0:a00::/80"},
		"address of another ENI": {"2600:1f13:0:a00:1::/80"},
		"same prefix twice":      {"2600:1f13:0:a00:2::/80", "2600:1f13:0:a00:2::/80"},
	} {
		if _, err := create(0, prefixes...); errorCode(err) != "InvalidIPAddress.InUse" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = create(0, "2600:1f13:0:a00:2::/80")
	checkCode(t, "", err)
}

func TestUsersCannotChangeENIsOfServices(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	subnet, g := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2a"), c.createSecurityGroup(vpc, "lb")
	var id string
	c.withPartition(func(p *store.Partition) {
		eni, err := p.CreateServiceENI("ELB app/web/0123456789abcdef", "amazon-elb", subnet, []string{g})
		if err != nil {
			t.Fatal(err)
		}
		id = eni.ID
	})
	out, err := c.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{
		Filters: []types.Filter{newFilter("requester-managed", "true"), newFilter("attachment.instance-owner-id", "amazon-elb"), newFilter("description", "ELB app/*")},
	})
	e := must(t, out, err).NetworkInterfaces[0]
	if *e.NetworkInterfaceId != id || *e.RequesterId != "amazon-elb" || *e.PrivateIpAddress != "10.0.0.4" || *e.Groups[0].GroupId != g {
		t.Errorf("%+v", e)
	}
	var detach error
	if e.Attachment != nil {
		_, detach = c.DetachNetworkInterface(ctx, &ec2.DetachNetworkInterfaceInput{AttachmentId: e.Attachment.AttachmentId})
	}
	_, remove := c.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &id})
	_, modify := c.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: &id, Groups: []string{g}})
	_, assign := c.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: &id, SecondaryPrivateIpAddressCount: aws.Int32(1)})
	_, unassign := c.UnassignPrivateIpAddresses(ctx, &ec2.UnassignPrivateIpAddressesInput{NetworkInterfaceId: &id, PrivateIpAddresses: []string{"10.0.0.4"}})
	for name, err := range map[string]error{"detach": detach, "delete": remove, "modify": modify, "assign": assign, "unassign": unassign} {
		if errorCode(err) != "AuthFailure" {
			t.Errorf("%s: want AuthFailure, got %v", name, err)
		}
	}
	c.withPartition(func(p *store.Partition) {
		if broken := p.Store().CheckInvariants(); len(broken) != 0 {
			t.Error(broken)
		}
	})
}
