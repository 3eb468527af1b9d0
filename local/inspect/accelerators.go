package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
)

// acceleratorRegion is the only region that serves the API of Global Accelerator.
const acceleratorRegion = "us-west-2"

// acceleratorSecurityGroup is the name of the security group that AWS creates for accelerators.
const acceleratorSecurityGroup = "GlobalAccelerator"

func (in *Inspector) accelerators(ctx context.Context) (Inventory, error) {
	var out Inventory
	pages := ga.NewListAcceleratorsPaginator(in.ga, &ga.ListAcceleratorsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Accelerators {
			out = append(out, "accelerator "+aws.ToString(a.Name))
		}
	}
	return out, nil
}

// AcceleratorLines returns a line for each endpoint group of an accelerator and a line for each endpoint, such as "TCP:80
// us-west-2 dial=100" and "TCP:80 us-west-2 k8s-shop-web-1 weight=128 HEALTHY". The lines are sorted. A port range is
// represented by its first port.
func (in *Inspector) AcceleratorLines(ctx context.Context, arn string) ([]string, error) {
	var out []string
	listeners, err := in.ga.ListListeners(ctx, &ga.ListListenersInput{AcceleratorArn: &arn})
	if err != nil {
		return nil, err
	}
	for _, l := range listeners.Listeners {
		var ports []string
		for _, p := range l.PortRanges {
			ports = append(ports, fmt.Sprint(aws.ToInt32(p.FromPort)))
		}
		groups, err := in.ga.ListEndpointGroups(ctx, &ga.ListEndpointGroupsInput{ListenerArn: l.ListenerArn})
		if err != nil {
			return nil, err
		}
		for _, g := range groups.EndpointGroups {
			location := fmt.Sprintf("%s:%s %s", l.Protocol, strings.Join(ports, ","), aws.ToString(g.EndpointGroupRegion))
			out = append(out, fmt.Sprintf("%s dial=%v", location, aws.ToFloat32(g.TrafficDialPercentage)))
			for _, e := range g.EndpointDescriptions {
				out = append(out, fmt.Sprintf("%s %s weight=%d %s", location, loadBalancerNameOf(aws.ToString(e.EndpointId)), aws.ToInt32(e.Weight), e.HealthState))
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// loadBalancerNameOf returns the name of the load balancer if id is the ARN of a load balancer, and id otherwise.
func loadBalancerNameOf(id string) string {
	parts := strings.Split(id, "/")
	if len(parts) < 2 {
		return id
	}
	return parts[len(parts)-2]
}
