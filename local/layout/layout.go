// Package layout describes the addresses, subnets and nodes of a local world, with their IDs in AWS. Package vpc creates
// them in AWS, and package agent creates the nodes in Kubernetes.
package layout

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
)

// Layout describes the network and the nodes of one local world, in AWS and in Kubernetes.
type Layout struct {
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	// AWS is the endpoint of the emulator. It is empty in a local world without AWS, where the IDs are placeholders.
	AWS               string       `json:"aws,omitempty"`
	VPC               string       `json:"vpc"`
	CIDR              netip.Prefix `json:"cidr"`
	NodeSecurityGroup string       `json:"nodeSecurityGroup"`
	PublicSubnets     []Subnet     `json:"publicSubnets"`
	PrivateSubnets    []Subnet     `json:"privateSubnets"`
	Nodes             []Node       `json:"nodes"`
	// Certificates are the ARNs of certificates in ACM, by main domain.
	Certificates map[string]string `json:"certificates,omitempty"`
}

// Subnet is a public or private subnet. Each Availability Zone has one public and one private subnet.
type Subnet struct {
	ID   string       `json:"id"`
	Name string       `json:"name"`
	Zone string       `json:"zone"`
	CIDR netip.Prefix `json:"cidr"`
}

// Node is an EC2 instance in a private subnet, and its Kubernetes node.
type Node struct {
	Name     string     `json:"name"`
	Zone     string     `json:"zone"`
	Subnet   int        `json:"subnet"` // index in PrivateSubnets
	Address  netip.Addr `json:"address"`
	Instance string     `json:"instance"`
	// ENI is the ID of the instance's ENI. The addresses of the node's pods are its secondary addresses.
	ENI string `json:"interface"`
	// PodRange is the address range of the node's pods, inside the subnet.
	PodRange netip.Prefix `json:"pods"`
}

// ProviderID returns the spec.providerID of the node.
func (n Node) ProviderID() string { return fmt.Sprintf("aws:///%s/%s", n.Zone, n.Instance) }

const zoneCount = 3

// maxNodes is the maximum number of nodes. Each zone has up to 12 nodes. The pods of each node have a /24 range; these are
// the fifth to the sixteenth /24 range of the private subnet.
const maxNodes = zoneCount * 12

// Plan returns the layout of local world number n with the given number of nodes, in three Availability Zones. The IDs are
// placeholders; package vpc replaces them with the IDs in AWS. Plan returns an error if there are too few or too many nodes.
func Plan(n int, cluster, region string, nodes int) (Layout, error) {
	if nodes < 1 || nodes > maxNodes {
		return Layout{}, fmt.Errorf("%d nodes: a world can have 1 to %d nodes", nodes, maxNodes)
	}
	l := Layout{
		Cluster:           cluster,
		Region:            region,
		VPC:               "vpc-local",
		CIDR:              vpcSubrange(n, 0, 16),
		NodeSecurityGroup: "sg-local",
	}
	for z := range zoneCount {
		zone := region + string(rune('a'+z))
		l.PublicSubnets = append(l.PublicSubnets, Subnet{
			ID: "subnet-public-" + zone, Name: "public-" + zone, Zone: zone, CIDR: vpcSubrange(n, 16*z, 20),
		})
		l.PrivateSubnets = append(l.PrivateSubnets, Subnet{
			ID: "subnet-private-" + zone, Name: "private-" + zone, Zone: zone, CIDR: vpcSubrange(n, 128+32*z, 19),
		})
	}
	for i := range nodes {
		z, inZone := i%zoneCount, i/zoneCount
		l.Nodes = append(l.Nodes, Node{
			Name:     fmt.Sprintf("node-%d", i),
			Zone:     l.PrivateSubnets[z].Zone,
			Subnet:   z,
			Address:  netip.AddrFrom4([4]byte{10, byte(n), byte(128 + 32*z), byte(200 + inZone)}),
			Instance: fmt.Sprintf("i-local%011x", i),
			ENI:      fmt.Sprintf("eni-local%d", i),
			PodRange: vpcSubrange(n, 132+32*z+inZone, 24),
		})
	}
	return l, nil
}

// SecondRegionRange returns the address range for a VPC in another region. It is a part of the range of this local world
// that no subnet contains, so the corresponding loopback addresses are not in use.
func (l Layout) SecondRegionRange() netip.Prefix { return l.subrange(64, 18) }

// AcceleratorRange returns the address range for the static addresses of accelerators. No subnet contains it.
func (l Layout) AcceleratorRange() netip.Prefix { return l.subrange(240, 22) }

func (l Layout) subrange(x byte, bits int) netip.Prefix {
	return vpcSubrange(int(l.CIDR.Addr().As4()[1]), int(x), bits)
}

func vpcSubrange(n, x, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n), byte(x), 0}), bits)
}

// Write writes the layout to a file as JSON.
func (l Layout) Write(path string) error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// Read reads a layout from a file that Write wrote.
func Read(path string) (Layout, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Layout{}, fmt.Errorf("read layout: %w", err)
	}
	var l Layout
	if err := json.Unmarshal(b, &l); err != nil {
		return Layout{}, fmt.Errorf("read layout %s: %w", path, err)
	}
	return l, nil
}
