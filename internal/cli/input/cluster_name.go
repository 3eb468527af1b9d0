package input

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// ClusterNameFix is the advice that is printed after the text of UnknownClusterWarning.
const ClusterNameFix = "set --cluster-name to the name in the flags of the controller"

// UnknownClusterWarning returns a warning if subnets of the VPC have tags of other clusters, but none has a tag of the
// cluster name. Otherwise it returns "". name is the value of --cluster-name.
func UnknownClusterWarning(name string, answers map[string]observed.SubnetAnswer) string {
	names := network.OtherClusterNames(name, answers)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("--cluster-name %q matches no subnet tag in the VPC; these tags name %s%s; resources of other clusters are neither shown nor used",
		name, output.JoinFirst(names), finding.SpellingHint(name, names))
}
