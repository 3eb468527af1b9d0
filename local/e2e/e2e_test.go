package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/local/inspect"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestScripts runs testdata/*.txtar. `go test -run Scripts/NAME` runs one script. FULCRUM_KEEP=1 keeps the logs of
// the local worlds.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata")
}

// TestLongScripts runs testdata/long/*.txtar, in `make soak` or with FULCRUM_SEEDS=1.
func TestLongScripts(t *testing.T) {
	if os.Getenv("FULCRUM_SEEDS") == "" {
		t.Skip("long; FULCRUM_SEEDS is not set")
	}
	t.Parallel()
	runScripts(t, filepath.Join("testdata", "long"))
}

func runScripts(t *testing.T, dir string) {
	binary, controller := worldtest.BinaryPath(t), worldtest.ControllerPath(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			return setup(env, binary, controller)
		},
		Cmds: commands(),
	})
}

// scriptCluster contains the local world, the controller and the loads of one cluster of a script.
type scriptCluster struct {
	*scenario.Scenario
	ctx              context.Context
	binary           string // path of fulcrum-local
	controller       string
	arguments        []string // arguments of the controller
	applier          *manifest.Applier
	initialInventory inspect.Inventory // resources in AWS at the start of the script
	loads            []*load           // loads that are running

	propagationDelay time.Duration // delay until load balancers apply changes
}

type scriptClusterKey struct{}

func setup(env *testscript.Env, binary, controller string) error {
	// A script that hangs ends with the timeout of go test. The processes of its local world end with the test program.
	ctx, cancel := context.WithCancel(context.Background())
	opts, arguments, err := readScriptOptions(env)
	if err != nil {
		cancel()
		return err
	}
	opts.Binary, opts.KeepState = binary, os.Getenv("FULCRUM_KEEP") != ""
	w, err := worldPool.Acquire(ctx, opts)
	if err != nil {
		cancel()
		return err
	}
	s := &scriptCluster{ctx: ctx, binary: binary, controller: controller, arguments: arguments, propagationDelay: opts.PropagationDelay}
	env.Defer(func() {
		s.endLoads()
		cancel()
		if f, ok := env.T().(interface{ Failed() bool }); !ok || f.Failed() {
			if w.HasStarted(world.RoleController) {
				env.T().Log("the end of the controller's log:\n" + w.LogTail(world.RoleController, 12))
			}
			if err := w.Close(); err != nil {
				env.T().Log(fmt.Sprint("close the world: ", err))
			}
			return
		}
		if err := w.Release(context.Background()); err != nil {
			env.T().Fatal(err)
		}
	})
	if err := s.prepareWorld(w.World); err != nil {
		return err
	}
	env.Values[scriptClusterKey{}] = &scriptClusters{currentCluster: s, firstCluster: s, byName: map[string]*scriptCluster{}}
	l := w.Layout()
	env.Setenv("VPC", l.VPC)
	env.Setenv("KUBECONFIG", w.Kubeconfig())
	for i := range l.PublicSubnets {
		env.Setenv(fmt.Sprintf("PUBLIC%d", i), l.PublicSubnets[i].ID)
		env.Setenv(fmt.Sprintf("PRIVATE%d", i), l.PrivateSubnets[i].ID)
	}
	for domain, arn := range l.Certificates {
		env.Setenv("CERT_"+domain, arn)
	}
	return nil
}

// readScriptOptions reads the file world.yaml of a script. It returns the options of the local world and the additional
// arguments of the controller in this file, or nothing if the script has no such file.
func readScriptOptions(env *testscript.Env) (world.Options, []string, error) {
	var file struct {
		Domains          []string `json:"domains"`
		PropagationDelay string   `json:"propagationDelay"`
		Controller       []string `json:"controller"`
	}
	b, err := os.ReadFile(filepath.Join(env.WorkDir, "world.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return world.Options{}, nil, nil
	}
	if err != nil {
		return world.Options{}, nil, err
	}
	if err := yaml.UnmarshalStrict(b, &file); err != nil {
		return world.Options{}, nil, fmt.Errorf("world.yaml: %w", err)
	}
	opts := world.Options{Domains: file.Domains}
	if file.PropagationDelay != "" {
		if opts.PropagationDelay, err = time.ParseDuration(file.PropagationDelay); err != nil {
			return opts, nil, fmt.Errorf("world.yaml: %w", err)
		}
	}
	return opts, file.Controller, nil
}

// sharedObjects are applied in every local world before its script begins.
const sharedObjects = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
`

func (s *scriptCluster) apply(b []byte) error {
	objects, err := manifest.Parse(b)
	if err != nil {
		return err
	}
	return s.applier.Apply(s.ctx, objects)
}

func scriptClusterOf(ts *testscript.TestScript) *scriptCluster {
	return scriptClustersOf(ts).currentCluster
}
