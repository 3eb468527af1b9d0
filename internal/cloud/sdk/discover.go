package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// newMetadataClient returns a client of the instance metadata service. It uses IPv6 if the host has no IPv4 address except
// loopback.
func newMetadataClient(c Config) *imds.Client {
	// With the HTTP client of the SDK, each operation has the SDK's deadline of 5 s.
	o := imds.Options{Endpoint: c.Endpoints[services.IMDS]}
	if c.HTTP != nil {
		o.HTTPClient = withTimeout(c.HTTP, c.AttemptTimeout)
	}
	if o.Endpoint == "" && c.HTTP == nil && hasOnlyIPv6() {
		o.EndpointMode = imds.EndpointModeStateIPv6
	}
	return imds.New(o)
}

func hasOnlyIPv6() bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// findRegion returns the region from the first source that has one: the configuration, AWS_DEFAULT_REGION, AWS_REGION, or
// the instance metadata.
func findRegion(ctx context.Context, c Config) (string, error) {
	for _, r := range []string{c.Region, c.Env("AWS_DEFAULT_REGION"), c.Env("AWS_REGION")} {
		if r != "" {
			return r, nil
		}
	}
	out, err := newMetadataClient(c).GetRegion(ctx, &imds.GetRegionInput{})
	if err != nil {
		return "", &notSetError{"AWS region not set, and not found in the instance metadata; set --aws-region, AWS_DEFAULT_REGION or AWS_REGION", err}
	}
	return out.Region, nil
}

// findVPC returns the ID of the VPC from the configuration. If it is not set, findVPC looks for the VPC with the configured
// tags. Without tags, it uses the instance metadata, and then the instance whose ID is the name of the node.
func findVPC(ctx context.Context, c Config, cl *ec2.Client) (string, error) {
	if c.VPC != "" {
		return c.VPC, nil
	}
	if len(c.VPCTags) > 0 {
		return findVPCByTags(ctx, cl, c.VPCTags)
	}
	vpc, errMeta := findVPCByMetadata(ctx, c)
	if errMeta == nil {
		return vpc, nil
	}
	var errNode error
	if node := c.Env("NODENAME"); strings.HasPrefix(node, "i-") {
		if vpc, errNode = findVPCByInstance(ctx, cl, node); errNode == nil {
			return vpc, nil
		}
	}
	return "", &notSetError{"VPC not set, and not found in the instance metadata; set --aws-vpc-id or --aws-vpc-tags", errors.Join(errMeta, errNode)}
}

func findVPCByTags(ctx context.Context, cl *ec2.Client, tags map[string]string) (string, error) {
	in := &ec2.DescribeVpcsInput{}
	var pairs []string // for messages
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		pairs = append(pairs, k+"="+tags[k])
		in.Filters = append(in.Filters, Filter("tag:"+k, tags[k]))
	}
	out, err := cl.DescribeVpcs(ctx, in)
	if err != nil {
		return "", fmt.Errorf("find the VPC by tags: %w", err)
	}
	switch len(out.Vpcs) {
	case 0:
		return "", fmt.Errorf("no VPC has the tags %s; correct --aws-vpc-tags or set --aws-vpc-id", strings.Join(pairs, ", "))
	case 1:
		return aws.ToString(out.Vpcs[0].VpcId), nil
	}
	return "", fmt.Errorf("%d VPCs have the tags %s; set --aws-vpc-id", len(out.Vpcs), strings.Join(pairs, ", "))
}

func findVPCByMetadata(ctx context.Context, c Config) (string, error) {
	m := newMetadataClient(c)
	mac, err := readMetadata(ctx, m, "mac")
	if err != nil {
		return "", err
	}
	return readMetadata(ctx, m, "network/interfaces/macs/"+mac+"/vpc-id")
}

func readMetadata(ctx context.Context, m *imds.Client, path string) (string, error) {
	out, err := m.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", fmt.Errorf("instance metadata %s: %w", path, err)
	}
	defer out.Content.Close()
	b, err := io.ReadAll(out.Content)
	if err != nil {
		return "", fmt.Errorf("instance metadata %s: %w", path, err)
	}
	return strings.TrimSpace(string(b)), nil
}

func findVPCByInstance(ctx context.Context, cl *ec2.Client, id string) (string, error) {
	out, err := cl.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return "", fmt.Errorf("find the VPC by instance %s: %w", id, err)
	}
	if len(out.Reservations) != 1 || len(out.Reservations[0].Instances) != 1 {
		return "", fmt.Errorf("find the VPC by instance %s: the instance does not exist", id)
	}
	return aws.ToString(out.Reservations[0].Instances[0].VpcId), nil
}

// Filter returns one filter for an EC2 describe call.
func Filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: aws.String(name), Values: values}
}

// SortedUnique returns a sorted copy of a list without duplicates.
func SortedUnique(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// Filters returns the list of filters for an EC2 describe call with a single filter.
func Filters(name string, values ...string) []ec2types.Filter {
	return []ec2types.Filter{Filter(name, values...)}
}

// MaxFilterValues is the maximum number of values of a filter. It is one less than EC2 permits, because some calls have a
// second filter with one value.
const MaxFilterValues = 199
