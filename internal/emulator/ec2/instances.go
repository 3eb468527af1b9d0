package ec2

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// RunInstances creates instances, each with one ENI. It accepts any image ID.
func (s *instances) RunInstances(c *store.Call, in *ec2.RunInstancesInput) (*ec2.RunInstancesOutput, error) {
	p := c.Partition
	low, high, err := launchCount(in)
	if err != nil {
		return nil, err
	}
	if token := aws.ToString(in.ClientToken); token != "" {
		var existing []*store.Instance
		for _, id := range store.SortedKeys(p.Instances) {
			if i := p.Instances[id]; i.ClientToken == token {
				existing = append(existing, i)
			}
		}
		if len(existing) > 0 {
			return s.runInstancesOutput(c, existing), nil
		}
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeInstance, types.ResourceTypeNetworkInterface, types.ResourceTypeVolume)
	if err != nil {
		return nil, err
	}
	eniTags, err := tagsFor(in.TagSpecifications, types.ResourceTypeNetworkInterface, types.ResourceTypeInstance, types.ResourceTypeVolume)
	if err != nil {
		return nil, err
	}
	sub, want, err := s.launchNetwork(c, in)
	if err != nil {
		return nil, err
	}
	deleteENI := len(in.NetworkInterfaces) == 0 || aws.ToBool(cmp.Or(in.NetworkInterfaces[0].DeleteOnTermination, aws.Bool(true)))
	reservation := s.store.NewID("r-")
	var fresh []*store.Instance
	for n := range high {
		eni, err := s.newENI(p, sub, want)
		if err != nil && n >= low {
			break // the subnet has no more addresses
		}
		if err != nil {
			for _, i := range fresh {
				p.RemoveENI(i.Interfaces[0])
				delete(p.Instances, i.ID)
				delete(p.Tags, i.ID)
			}
			return nil, err
		}
		i := &store.Instance{
			ID: s.store.NewID("i-"), ReservationID: reservation, Type: cmp.Or(string(in.InstanceType), "m1.small"),
			ImageID: aws.ToString(in.ImageId), SubnetID: sub.ID, VPCID: sub.VPCID, Zone: sub.Zone,
			KeyName: aws.ToString(in.KeyName), Launched: c.Now, LaunchIndex: int32(n),
			HTTPEndpoint: "enabled", HTTPTokens: "optional", HopLimit: 1, ClientToken: aws.ToString(in.ClientToken),
		}
		if len(eni.Private) > 0 {
			i.PrivateDNS = p.PrivateDNS(eni.Private[0])
		}
		if m := in.MetadataOptions; m != nil {
			i.HTTPEndpoint = cmp.Or(string(m.HttpEndpoint), i.HTTPEndpoint)
			i.HTTPTokens = cmp.Or(string(m.HttpTokens), i.HTTPTokens)
			i.HopLimit = cmp.Or(aws.ToInt32(m.HttpPutResponseHopLimit), i.HopLimit)
		}
		p.StartInstanceTransition(i, store.InstancePending, store.InstanceRunning)
		p.Instances[i.ID] = i
		s.attachENI(c, eni, i, 0, deleteENI)
		p.AddTags(i.ID, tags)
		p.AddTags(eni.ID, eniTags)
		fresh = append(fresh, i)
	}
	return s.runInstancesOutput(c, fresh), nil
}

// launchCount returns the minimum and the maximum number of instances to launch.
func launchCount(in *ec2.RunInstancesInput) (low, high int, err *store.Error) {
	low, high = int(aws.ToInt32(in.MinCount)), int(aws.ToInt32(in.MaxCount))
	if aws.ToString(in.ImageId) == "" {
		return 0, 0, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter ImageId")
	}
	if low < 1 || high < low || high > 1000 {
		return 0, 0, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The values for minCount and maxCount are invalid: %d, %d", low, high)
	}
	if high > 1 && (in.PrivateIpAddress != nil || len(in.NetworkInterfaces) > 0 && in.NetworkInterfaces[0].PrivateIpAddress != nil) {
		return 0, 0, store.Errorf(store.UnprovenSource, "InvalidParameterCombination", "The parameter PrivateIpAddress cannot be used with more than one instance")
	}
	return low, high, nil
}

// launchNetwork returns the subnet in which the instances of a request are launched, and the properties of their ENIs.
func (s *instances) launchNetwork(c *store.Call, in *ec2.RunInstancesInput) (*store.Subnet, eniRequest, *store.Error) {
	p := c.Partition
	subnet, want := in.SubnetId, eniRequest{
		securityGroups: in.SecurityGroupIds, primaryAddress: in.PrivateIpAddress, ipv6Count: int(aws.ToInt32(in.Ipv6AddressCount)),
	}
	switch {
	case len(in.NetworkInterfaces) > 1:
		return nil, want, store.Errorf(store.EmulatorSource, "UnsupportedParameter", "more than one network interface at launch is not supported by this emulator")
	case len(in.NetworkInterfaces) == 1:
		spec := in.NetworkInterfaces[0]
		if in.SubnetId != nil || len(in.SecurityGroupIds) > 0 {
			return nil, want, store.Errorf(store.UnprovenSource, "InvalidParameterCombination", "Network interfaces and an instance-level subnet ID may not be specified on the same request")
		}
		if aws.ToInt32(spec.DeviceIndex) != 0 {
			return nil, want, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The first network interface must have device index 0")
		}
		subnet = spec.SubnetId
		want.securityGroups, want.primaryAddress = spec.Groups, spec.PrivateIpAddress
		want.description = aws.ToString(spec.Description)
		want.secondaryCount = int(aws.ToInt32(spec.SecondaryPrivateIpAddressCount))
	}
	for _, name := range in.SecurityGroups {
		g, err := s.findSecurityGroup(c, nil, aws.String(name))
		if err != nil {
			return nil, want, err
		}
		want.securityGroups = append(want.securityGroups, g.ID)
	}
	if subnet != nil {
		sub, err := findResource(kindSubnet, p.Subnets, subnet)
		return sub, want, err
	}
	var zone string
	if in.Placement != nil {
		zone = aws.ToString(in.Placement.AvailabilityZone)
	}
	for _, id := range store.SortedKeys(p.Subnets) {
		if sub := p.Subnets[id]; sub.IsDefault && (zone == "" || sub.Zone == zone) {
			return sub, want, nil
		}
	}
	return nil, want, store.Errorf(store.UnprovenSource, "MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
}

func (s *instances) runInstancesOutput(c *store.Call, list []*store.Instance) *ec2.RunInstancesOutput {
	out := &ec2.RunInstancesOutput{ReservationId: aws.String(list[0].ReservationID), OwnerId: aws.String(c.Account)}
	for _, i := range list {
		item := s.describeInstance(c.Partition, i)
		if i.Since.Equal(c.Now) {
			item.State = newInstanceState(i.From) // in AWS, a new instance is always pending at first
		}
		out.Instances = append(out.Instances, item)
	}
	return out
}

// StartInstances starts stopped instances.
func (s *instances) StartInstances(c *store.Call, in *ec2.StartInstancesInput) (*ec2.StartInstancesOutput, error) {
	changes, err := s.startTransition(c, in.InstanceIds, store.InstanceStopped, store.InstancePending, store.InstanceRunning)
	if err != nil {
		return nil, err
	}
	return &ec2.StartInstancesOutput{StartingInstances: changes}, nil
}

// StopInstances stops running instances.
func (s *instances) StopInstances(c *store.Call, in *ec2.StopInstancesInput) (*ec2.StopInstancesOutput, error) {
	changes, err := s.startTransition(c, in.InstanceIds, store.InstanceRunning, store.InstanceStopping, store.InstanceStopped)
	if err != nil {
		return nil, err
	}
	return &ec2.StopInstancesOutput{StoppingInstances: changes}, nil
}

// TerminateInstances terminates instances. It detaches their ENIs, and deletes those that were created with the instances,
// unless the launch request set DeleteOnTermination to false.
func (s *instances) TerminateInstances(c *store.Call, in *ec2.TerminateInstancesInput) (*ec2.TerminateInstancesOutput, error) {
	p := c.Partition
	changes, err := s.startTransition(c, in.InstanceIds, "", store.InstanceShuttingDown, store.InstanceTerminated)
	if err != nil {
		return nil, err
	}
	for _, id := range in.InstanceIds {
		i := p.Instances[id]
		if !i.TerminatedAt.IsZero() {
			continue
		}
		i.TerminatedAt = c.Now
		for _, eniID := range slices.Clone(i.Interfaces) {
			eni := p.NetworkInterfaces[eniID]
			if eni == nil {
				continue
			}
			deleted := eni.Attachment.DeleteOnEnd
			detachENI(p, eni)
			if deleted {
				p.RemoveENI(eniID)
			}
		}
	}
	return &ec2.TerminateInstancesOutput{TerminatingInstances: changes}, nil
}

// startTransition changes the state of instances to the temporary state "through", and later to the state "to". Instances
// must be in the state "from", or in any state if "from" is empty. Instances that are already in state "through" or "to"
// do not change.
func (s *instances) startTransition(c *store.Call, ids []string, from, through, to string) ([]types.InstanceStateChange, *store.Error) {
	p := c.Partition
	if len(ids) == 0 {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter InstanceId")
	}
	if err := checkIDs(kindInstance, p.Instances, ids); err != nil {
		return nil, err
	}
	for _, id := range ids {
		state := p.InstanceState(p.Instances[id])
		if from != "" && state != from && state != through && state != to {
			return nil, store.Errorf(store.UnprovenSource, "IncorrectInstanceState", "The instance '%s' is not in a state from which it can be %s.", id, to)
		}
	}
	var out []types.InstanceStateChange
	for _, id := range ids {
		i := p.Instances[id]
		before := p.InstanceState(i)
		change := types.InstanceStateChange{InstanceId: aws.String(id), PreviousState: newInstanceState(before), CurrentState: newInstanceState(before)}
		if before != through && before != to {
			p.StartInstanceTransition(i, through, to)
			change.CurrentState = newInstanceState(through)
		}
		out = append(out, change)
	}
	return out, nil
}

var instanceStateCodes = map[string]int32{
	store.InstancePending: 0, store.InstanceRunning: 16, store.InstanceShuttingDown: 32,
	store.InstanceTerminated: 48, store.InstanceStopping: 64, store.InstanceStopped: 80,
}

func newInstanceState(name string) *types.InstanceState {
	return &types.InstanceState{Code: aws.Int32(instanceStateCodes[name]), Name: types.InstanceStateName(name)}
}
