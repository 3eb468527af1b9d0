package network

import (
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ClusterTag begins the key of the tag by which a subnet belongs to a cluster.
const ClusterTag = "kubernetes.io/cluster/"

// OtherClusters returns the clusters that tags of subnets name where none of them is the cluster of a name; none if one
// is, or if there are no such tags. A wrong name finds no load balancer and no subnet, and an error shows neither.
func OtherClusters(name string, answers map[string]observed.SubnetAnswer) []string {
	others := map[string]bool{}
	for _, a := range answers {
		for _, s := range a.Candidates {
			for key := range s.Tags {
				cluster, ok := strings.CutPrefix(key, ClusterTag)
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
