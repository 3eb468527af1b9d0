package world

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// StartTimeout is how long a start may take if nothing else is said. It takes 10 seconds on an idle machine, and two
// minutes on one that does much else.
const StartTimeout = 5 * time.Minute

// Options describe a world. The zero value of each field but Binary has a
// meaning.
type Options struct {
	// Binary is the path of fulcrum-local, whose subcommands are the roles.
	Binary string
	// Assets is a directory with the programs etcd and kube-apiserver to run in place of those of Binary, as tests with
	// controller-runtime know it. Default: the environment variable KUBEBUILDER_ASSETS, and without it those of Binary.
	Assets string
	// Cluster is the cluster's name in tags. Default: local.
	Cluster string
	// Region is the region of the emulated AWS, which is of its partition. Default: us-west-2.
	Region string
	// Nodes is the count of nodes, over three zones. Default: 3.
	Nodes int
	// WithoutAWS leaves the emulator out: a cluster with nodes and pods whose
	// instances exist nowhere. No controller can run in it.
	WithoutAWS bool
	// Beside is the number of a running world with the same Base whose AWS this one uses too, as a cluster of its
	// own in another VPC, and if Region says so in another region of the same partition. The other options
	// about AWS are those of that world. Default: an AWS of its own.
	Beside int
	// AdminController lets the controller be a cluster admin who may do everything in AWS: another
	// one than Fulcrum may need other rights. Default: it has those of config/rbac and config/iam.
	AdminController bool
	// PropagationDelay is the delay until load balancers apply changes that AWS has
	// accepted: new listeners, rules, target groups and targets. Removals apply at
	// once, so that the delay hides no fault. Default: none.
	PropagationDelay time.Duration
	// ActiveAtOnce lets new load balancers be active from the start, for tests that make
	// many and whose subject is not how long that takes. Default: they are after a second,
	// which a controller may see many seconds later.
	ActiveAtOnce bool
	// WithoutTraffic leaves out the listeners of load balancers and the checks of targets: all targets are healthy.
	// For measurements of many load balancers. Default: traffic flows.
	WithoutTraffic bool
	// Domains get one certificate each in ACM, valid for the domain and all
	// its direct subdomains. Default: example.com and app.test.
	Domains []string
	// GatewayAPI is the channel of the CRDs of Gateway API that the cluster has,
	// "standard" or "experimental". Default: none.
	GatewayAPI string
	// Manifests are files or directories of YAML, applied once the cluster is
	// up, after Fulcrum's own CRDs and before any controller runs.
	Manifests []string
	// Base is the directory of all worlds of this user. Default: one under
	// the system's directory for temporary files.
	Base string
	// Keep leaves the state directory, with the logs, when the world ends.
	// The next world of the same base directory removes it.
	Keep bool
	// Timeout is how long Start may take. Default: StartTimeout.
	Timeout time.Duration
	// Progress is called with each stage that has been reached, from one goroutine at a
	// time. Default: none.
	Progress func(Step)
}

// Step is one thing that Start has done.
type Step struct {
	Name string
	// Took is the time since Start was called.
	Took time.Duration
}

// prebuilt is the path of a role's program in Assets, empty if it is part of Binary.
func (o Options) prebuilt(role string) string {
	if o.Assets == "" || role != RoleEtcd && role != RoleAPIServer {
		return ""
	}
	return filepath.Join(o.Assets, role)
}

func (o Options) withDefaults() (Options, error) {
	if o.Binary == "" {
		return o, errors.New("world: Options.Binary, the path of fulcrum-local, is not set")
	}
	path, err := filepath.Abs(o.Binary)
	if err != nil {
		return o, err
	}
	if _, err := os.Stat(path); err != nil {
		return o, fmt.Errorf("world: the fulcrum-local binary: %w", err)
	}
	o.Binary = path
	if o.Assets == "" {
		o.Assets = os.Getenv("KUBEBUILDER_ASSETS")
	}
	for _, role := range []string{RoleEtcd, RoleAPIServer} {
		if p := o.prebuilt(role); p != "" {
			if _, err := os.Stat(p); err != nil {
				return o, fmt.Errorf("world: KUBEBUILDER_ASSETS, or Options.Assets, is a directory without %s: %w", role, err)
			}
		}
	}
	if o.Beside != 0 && o.WithoutAWS {
		return o, errors.New("world: Options.Beside shares an AWS, and Options.WithoutAWS is for a cluster without one; set one of them")
	}
	if o.Cluster == "" {
		o.Cluster = "local"
	}
	if o.Region == "" {
		o.Region = "us-west-2"
	}
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.Domains == nil {
		o.Domains = []string{"example.com", "app.test"}
	}
	if o.Base == "" {
		o.Base = filepath.Join(os.TempDir(), fmt.Sprintf("fulcrum-local-%d", os.Getuid()))
	}
	if o.Timeout == 0 {
		o.Timeout = StartTimeout
	}
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	if o.Beside != 0 {
		return o, o.checkNeighbor()
	}
	return o, nil
}
