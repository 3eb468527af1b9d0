package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// machineImage is the only machine image that DescribeImages returns.
var machineImage = types.Image{
	ImageId: aws.String("ami-0123456789abcdef0"), Name: aws.String("fulcrum-node"), Description: aws.String("Image for instances that run no programs"),
	State: types.ImageStateAvailable, Architecture: types.ArchitectureValuesX8664, OwnerId: aws.String("amazon"),
	ImageOwnerAlias: aws.String("amazon"), ImageType: types.ImageTypeValuesMachine, Public: aws.Bool(true),
	RootDeviceType: types.DeviceTypeEbs, RootDeviceName: aws.String("/dev/xvda"), VirtualizationType: types.VirtualizationTypeHvm,
	CreationDate: aws.String("2025-01-01T00:00:00.000Z"),
}

// DescribeImages lists the only machine image. It ignores the owners in the request.
func (s *instances) DescribeImages(_ *store.Call, in *ec2.DescribeImagesInput) (*ec2.DescribeImagesOutput, error) {
	for _, id := range in.ImageIds {
		if id != *machineImage.ImageId {
			return nil, store.Errorf(store.UnprovenSource, "InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
		}
	}
	images, err := filterItems([]types.Image{machineImage}, in.Filters, filters[types.Image]{
		"image-id":            func(i types.Image) []string { return textValue(*i.ImageId) },
		"name":                func(i types.Image) []string { return textValue(*i.Name) },
		"state":               func(i types.Image) []string { return textValue(string(i.State)) },
		"architecture":        func(i types.Image) []string { return textValue(string(i.Architecture)) },
		"owner-id":            func(i types.Image) []string { return textValue(*i.OwnerId) },
		"owner-alias":         func(i types.Image) []string { return textValue(*i.ImageOwnerAlias) },
		"root-device-type":    func(i types.Image) []string { return textValue(string(i.RootDeviceType)) },
		"virtualization-type": func(i types.Image) []string { return textValue(string(i.VirtualizationType)) },
	}, nil)
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeImagesOutput{Images: slices.Clone(images)}, nil
}
