package network

import (
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ClusterTagPrefix is the prefix of the tag key that assigns a subnet or a security group to a cluster. The name of the
// cluster follows the prefix.
const ClusterTagPrefix = "kubernetes.io/cluster/"

// OtherClusterNames returns the cluster names in the tags of subnets, sorted; nil if name is among them. The result helps to
// find a wrong --cluster-name. With a wrong name, the controller finds neither load balancers nor subnets, and reports no
// error.
func OtherClusterNames(name string, answers map[string]observed.SubnetAnswer) []string {
	others := map[string]bool{}
	for _, a := range answers {
		for _, s := range a.Candidates {
			for key := range s.Tags {
				cluster, ok := strings.CutPrefix(key, ClusterTagPrefix)
				if ok && cluster == name {
					return nil
				}
				if ok {
					others[cluster] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(others))
}
