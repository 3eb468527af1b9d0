package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// nameCluster is what to do about it.
const nameCluster = "give the name that the controller of this cluster has in its flags"

// clusterTag begins the key of the tag by which a subnet belongs to a cluster.
const clusterTag = "kubernetes.io/cluster/"

// unknownCluster says that subnets have tags of clusters, and none of the one that --cluster-name names; "" if that is not
// so. A wrong name finds no load balancer and no subnet, and says so of neither.
func unknownCluster(name string, answers map[string]observed.SubnetAnswer) string {
	others := map[string]bool{}
	for _, a := range answers {
		for _, s := range a.Candidates {
			for key := range s.Tags {
				cluster, ok := strings.CutPrefix(key, clusterTag)
				if ok && cluster == name {
					return ""
				}
				if ok {
					others[cluster] = true
				}
			}
		}
	}
	if len(others) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(others))
	return fmt.Sprintf("--cluster-name %q fits no subnet of the VPC; their tags name %s%s; what belongs to another cluster is neither shown nor used",
		name, few(names), finding.DidYouMean(name, names))
}
