package e2e

import (
	"errors"
	"github.com/rogpeppe/go-internal/testscript"
	"os"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// scriptClusters contains the clusters of a script. Commands use currentCluster.
type scriptClusters struct {
	currentCluster, firstCluster *scriptCluster
	byName                       map[string]*scriptCluster
}

func scriptClustersOf(ts *testscript.TestScript) *scriptClusters {
	s, ok := ts.Value(scriptClusterKey{}).(*scriptClusters)
	if !ok {
		ts.Fatalf("the script has no world")
	}
	return s
}

const clusterUsage = "usage: cluster start NAME REGION [ARGUMENT]… or cluster use NAME|first"

// cmdCluster starts a cluster that uses the AWS of the first cluster, or selects the cluster of the next commands. A cluster
// that is started is also selected.
func cmdCluster(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClustersOf(ts)
	switch {
	case neg:
		ts.Fatalf(clusterUsage)
	case len(args) == 2 && args[0] == "use" && args[1] == "first":
		s.currentCluster = s.firstCluster
	case len(args) == 2 && args[0] == "use" && s.byName[args[1]] != nil:
		s.currentCluster = s.byName[args[1]]
	case len(args) >= 3 && args[0] == "start" && s.byName[args[1]] == nil:
		made, err := s.firstCluster.startSharingAWS(ts, args[1], args[2], args[3:])
		ts.Check(err)
		s.byName[args[1]], s.currentCluster = made, made
	default:
		ts.Fatalf(clusterUsage)
	}
}

// startSharingAWS starts another local world, which uses the AWS of s, and its controller. arguments are for the controller.
// The local world ends with the script.
func (s *scriptCluster) startSharingAWS(ts *testscript.TestScript, cluster, region string, arguments []string) (*scriptCluster, error) {
	w, err := world.Start(s.ctx, world.Options{
		Binary: s.binary, Cluster: cluster, Region: region, AWSOfWorld: s.World.Number(), ProcessorsPerRole: 1,
		AdminController: worldtest.IsOtherControllerTested(), KeepState: os.Getenv("FULCRUM_KEEP") != "",
	})
	if err != nil {
		return nil, err
	}
	made := &scriptCluster{ctx: s.ctx, binary: s.binary, controller: s.controller, arguments: arguments, propagationDelay: s.propagationDelay}
	ts.Defer(func() {
		made.endLoads()
		ts.Logf("the end of the log of the controller of cluster %s:\n%s", cluster, w.LogTail(world.RoleController, 20))
		if err := w.Close(); err != nil {
			ts.Logf("close the world of cluster %s: %v", cluster, err)
		}
	})
	return made, made.prepareWorld(w)
}

// prepareWorld sets the clients of s for local world w, records the resources in AWS, applies sharedObjects and starts the
// controller.
func (s *scriptCluster) prepareWorld(w *world.World) (err error) {
	if s.Scenario, err = scenario.New(w); err != nil {
		return err
	}
	if s.applier, err = manifest.NewApplier(w.RESTConfig()); err != nil {
		return err
	}
	if s.initialInventory, err = s.Inspector.Inventory(s.ctx); err != nil {
		return err
	}
	if err := s.apply([]byte(sharedObjects)); err != nil {
		return err
	}
	return s.startRole(world.RoleController)
}

// exportAccelerator stores the ARN and the DNS name of GlobalAccelerator ref (NS/NAME) in the variables ACCELERATOR and
// ACCELERATOR_NAME of the script.
func (s *scriptCluster) exportAccelerator(ts *testscript.TestScript, ref string) error {
	namespace, name := splitReference(ts, ref)
	arn, errARN := s.AcceleratorARN(s.ctx, namespace, name)
	dns, errName := s.AcceleratorHostname(s.ctx, namespace, name)
	ts.Setenv("ACCELERATOR", arn)
	ts.Setenv("ACCELERATOR_NAME", dns)
	return errors.Join(errARN, errName)
}
