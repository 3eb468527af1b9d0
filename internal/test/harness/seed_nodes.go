package harness

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

func (s *seeder) createInstances(ctx context.Context) error {
	images, err := s.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{})
	if err != nil {
		return err
	}
	if len(images.Images) == 0 {
		return fmt.Errorf("there is no image")
	}
	for i, letter := range zoneLetters {
		zone := s.cfg.Region + letter
		out, err := s.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
			ImageId: images.Images[0].ImageId, InstanceType: types.InstanceTypeM5Large,
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			SubnetId: aws.String(s.out.Private[i]), SecurityGroupIds: []string{s.out.NodeSG},
			TagSpecifications: tagSpecifications(types.ResourceTypeInstance, clusterTag, "owned"),
		})
		if err != nil {
			return fmt.Errorf("%s: %w", zone, err)
		}
		s.out.Instances = append(s.out.Instances, Instance{
			ID: aws.ToString(out.Instances[0].InstanceId), Zone: zone,
			Address: aws.ToString(out.Instances[0].PrivateIpAddress),
		})
	}
	return nil
}

// AssignPodAddresses assigns private IP addresses to the ENI of a node, as the VPC CNI plugin does for pods.
func AssignPodAddresses(ctx context.Context, cfg aws.Config, node Instance, addresses ...string) error {
	api := ec2.NewFromConfig(cfg)
	out, err := api.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{node.ID}})
	if err != nil {
		return err
	}
	_, err = api.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{
		NetworkInterfaceId: out.Reservations[0].Instances[0].NetworkInterfaces[0].NetworkInterfaceId,
		PrivateIpAddresses: addresses,
	})
	return err
}

// SeedNodes adds a ready Node for each instance to the store. Their names are "node-0", "node-1" and so on.
func SeedNodes(store *cluster.Memory, world Seeded) error {
	for i, instance := range world.Instances {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("node-%d", i),
				Labels: map[string]string{
					corev1.LabelHostname:       fmt.Sprintf("node-%d", i),
					corev1.LabelTopologyZone:   instance.Zone,
					corev1.LabelTopologyRegion: strings.TrimRight(instance.Zone, "abc"),
				},
			},
			Spec: corev1.NodeSpec{ProviderID: "aws:///" + instance.Zone + "/" + instance.ID},
			Status: corev1.NodeStatus{
				Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: instance.Address}},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		}
		if err := store.Put(node); err != nil {
			return fmt.Errorf("node %s: %w", node.Name, err)
		}
	}
	return nil
}
