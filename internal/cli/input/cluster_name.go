package input

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// NameCluster is what to do about it.
const NameCluster = "give the name that the controller of this cluster has in its flags"

// UnknownCluster returns a warning that subnets have tags of clusters, and none of the one that --cluster-name names; "" if
// that is not so.
func UnknownCluster(name string, answers map[string]observed.SubnetAnswer) string {
	names := network.OtherClusters(name, answers)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("--cluster-name %q fits no subnet of the VPC; their tags name %s%s; what belongs to another cluster is neither shown nor used",
		name, output.JoinFirst(names), finding.DidYouMean(name, names))
}
