package world

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// StartTimeout is the default of Options.Timeout. A start takes 10 seconds on an idle machine and two minutes on a
// busy one.
const StartTimeout = 5 * time.Minute

// Options describes a local world. All fields except Binary are optional.
type Options struct {
	// Binary is the path of fulcrum-local, whose subcommands are the roles.
	Binary string
	// AssetsDir is a directory with the programs etcd and kube-apiserver, as for envtest of controller-runtime. Default:
	// the value of the environment variable KUBEBUILDER_ASSETS. If the variable is not set either, subcommands of Binary
	// run.
	AssetsDir string
	// Cluster is the name of the cluster in tags. Default: "local".
	Cluster string
	// Region is the region of the emulated AWS, and determines its partition. Default: "us-west-2".
	Region string
	// ProcessorsPerRole is the maximum number of processors that each role may use, except RoleAWS and RoleAgent, which
	// serve the traffic. One is enough if several local worlds run at the same time, and reduces the CPU time of an idle API
	// server. Default: all.
	ProcessorsPerRole int
	// Nodes is the number of nodes, spread over three Availability Zones. Default: 3.
	Nodes int
	// WithoutAWS starts only a cluster with nodes and pods. No controller can run in it.
	WithoutAWS bool
	// AWSOfWorld is the number of a running local world with the same BaseDir. This local world then uses the AWS of that
	// local world, with its own VPC and possibly in another Region of the same partition. PropagationDelay,
	// ActiveImmediately and WithoutTraffic then have no effect. Default: the local world runs its own AWS.
	AWSOfWorld int
	// AdminController gives the controller all permissions in the cluster and in AWS. It is for controllers other than
	// Fulcrum. Default: the controller has the permissions in config/rbac and config/iam.
	AdminController bool
	// PropagationDelay is the delay until load balancers apply changes that AWS has accepted: new listeners, rules, target
	// groups and targets. Removals of load balancers, target groups and targets apply immediately, because a delay would
	// hide faults. Default: 0.
	PropagationDelay time.Duration
	// ActiveImmediately makes load balancers active when they are created, for tests that create many. Default: they become
	// active after a second.
	ActiveImmediately bool
	// WithoutTraffic disables the listeners of load balancers and the health checks, so that all targets are healthy.
	// It is for measurements with many load balancers. Default: load balancers serve traffic.
	WithoutTraffic bool
	// Domains are domains that get one certificate each in ACM, valid for the domain and all its direct subdomains. Default:
	// example.com and app.test.
	Domains []string
	// GatewayAPI is the release channel of the Gateway API CRDs in the cluster, "standard" or "experimental". Default: the
	// cluster has no such CRDs.
	GatewayAPI string
	// Manifests are YAML files, or directories of them. Start applies them after Fulcrum's CRDs and RBAC manifests.
	Manifests []string
	// BaseDir is the directory of all local worlds of this user. Default: a directory in the system's directory for
	// temporary files.
	BaseDir string
	// KeepState keeps the state directory, with the logs, when the local world ends. The next local world with the same
	// BaseDir removes it.
	KeepState bool
	// Timeout is how long Start may take. Default: StartTimeout.
	Timeout time.Duration
	// Progress is called with each completed step, from one goroutine at a time. It may be nil.
	Progress func(Step)
}

// Step is a completed step of Start.
type Step struct {
	Name string
	// SinceStart is the time since Start was called.
	SinceStart time.Duration
}

// assetPath returns the path of a role's program in AssetsDir, or an empty string if Binary runs the role.
func (o Options) assetPath(role string) string {
	if o.AssetsDir == "" || role != RoleEtcd && role != RoleAPIServer {
		return ""
	}
	return filepath.Join(o.AssetsDir, role)
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
	if o.AssetsDir == "" {
		o.AssetsDir = os.Getenv("KUBEBUILDER_ASSETS")
	}
	for _, role := range []string{RoleEtcd, RoleAPIServer} {
		if p := o.assetPath(role); p != "" {
			if _, err := os.Stat(p); err != nil {
				return o, fmt.Errorf("world: KUBEBUILDER_ASSETS, or Options.AssetsDir, is a directory without %s: %w", role, err)
			}
		}
	}
	if o.AWSOfWorld != 0 && o.WithoutAWS {
		return o, errors.New("world: Options.AWSOfWorld shares an AWS, and Options.WithoutAWS is for a cluster without one; set one of them")
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
	if o.BaseDir == "" {
		o.BaseDir = filepath.Join(os.TempDir(), fmt.Sprintf("fulcrum-local-%d", os.Getuid()))
	}
	if o.Timeout == 0 {
		o.Timeout = StartTimeout
	}
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	if o.AWSOfWorld != 0 {
		return o, o.checkSharedAWS()
	}
	return o, nil
}
