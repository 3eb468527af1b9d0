package input

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// ClusterNameFix is the fix for UnknownClusterWarning.
const ClusterNameFix = "give the name that the controller of this cluster has in its flags"

// UnknownClusterWarning returns a warning if the subnets of the VPC have tags of other clusters and none of the cluster
// that --cluster-name names, "" otherwise.
func UnknownClusterWarning(name string, answers map[string]observed.SubnetAnswer) string {
	names := network.OtherClusterNames(name, answers)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("--cluster-name %q matches no subnet tag in the VPC; these tags name %s%s; resources of other clusters are neither shown nor used",
		name, output.JoinFirst(names), finding.DidYouMean(name, names))
}
