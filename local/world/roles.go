package world

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// Roles are the processes of a local world. Each of these roles except RoleController is a subcommand of fulcrum-local. See
// also RoleConsole.
const (
	RoleEtcd              = "etcd"
	RoleAPIServer         = "kube-apiserver"
	RoleControllerManager = "kube-controller-manager"
	RoleScheduler         = "kube-scheduler"
	RoleKwok              = "kwok"
	RoleAgent             = "agent"
	RoleAWS               = "aws"
	RoleController        = "controller"
)

// Ports on the control address of a local world. They are the same in all local worlds, because each has its own control
// address. The webhook port is the exception, see WebhookPort.
const (
	portClaim             = 1999 // open while the local world runs, to reserve its addresses
	portEtcd              = 2379
	portEtcdPeer          = 2380
	portAPIServer         = 6443
	portControllerManager = 10257
	portScheduler         = 10259
	portAWS               = 4566
	portResolver          = 5353
	portConsole           = 7442
	portMetrics           = 8080
	portHealth            = 8081
	portWebhook           = 9443
)

// controlHostPort returns the host:port of a port on the control address.
func (w *World) controlHostPort(port int) string {
	return net.JoinHostPort(w.controlAddress.String(), strconv.Itoa(port))
}

func (w *World) filePath(name ...string) string {
	return filepath.Join(append([]string{w.slot.dir}, name...)...)
}

// roleCommand returns the arguments of a role's program, of which the first is the role, and additional environment
// variables. For an unknown role, it returns only the first argument.
func (w *World) roleCommand(role string) (args, env []string) {
	// Without a certificate, each role of Kubernetes would generate one at its start, which takes about 0.1 seconds.
	certificate, key := "--tls-cert-file="+w.creds.path("apiserver.crt"), "--tls-private-key-file="+w.creds.path("apiserver.key")
	switch role {
	case RoleEtcd:
		client, peer := "http://"+w.controlHostPort(portEtcd), "http://"+w.controlHostPort(portEtcdPeer)
		args = []string{
			"--name=local",
			"--data-dir=" + w.filePath("etcd"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=local=" + peer,
			// The data need not survive a crash of the machine.
			"--unsafe-no-fsync",
			"--log-level=warn",
		}
	case RoleAPIServer:
		args = []string{
			"--bind-address=" + w.controlAddress.String(),
			"--secure-port=" + strconv.Itoa(portAPIServer),
			// No client in the local world uses the advertised address, but kube-apiserver rejects a loopback
			// address.
			"--advertise-address=" + w.slot.Addr(255, 1).String(),
			"--endpoint-reconciler-type=none",
			"--etcd-servers=http://" + w.controlHostPort(portEtcd),
			certificate, key,
			"--client-ca-file=" + w.creds.path("ca.crt"),
			"--token-auth-file=" + w.creds.path("tokens.csv"),
			"--authorization-mode=RBAC",
			"--admission-control-config-file=" + w.creds.path("admission.yaml"),
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + w.creds.path("service-accounts.key"),
			"--service-account-signing-key-file=" + w.creds.path("service-accounts.key"),
			fmt.Sprintf("--service-cluster-ip-range=10.%d.0.0/16", servicesSlot),
			"--allow-privileged=true",
			"--enable-priority-and-fairness=false",
			"--profiling=false",
			"--shutdown-delay-duration=0s",
			// This plugin taints new nodes until a controller has observed that they are ready. The nodes of a local world
			// are ready from the start.
			"--disable-admission-plugins=TaintNodesByCondition",
		}
	case RoleControllerManager:
		args = []string{
			"--kubeconfig=" + w.kubeconfig,
			"--bind-address=" + w.controlAddress.String(),
			"--secure-port=" + strconv.Itoa(portControllerManager),
			certificate, key,
			"--leader-elect=false",
			"--service-account-private-key-file=" + w.creds.path("service-accounts.key"),
			"--root-ca-file=" + w.creds.path("ca.crt"),
			"--controllers=" + strings.Join(kubeControllers, ","),
			// A node becomes not ready if it does not renew its lease for this time.
			"--node-monitor-grace-period=" + strconv.Itoa(2*nodeLeaseSeconds) + "s",
			"--concurrent-gc-syncs=5",
			"--profiling=false",
			// Tests wait less without a batch period for changes of endpoints, and with higher rate limits.
			"--endpointslice-updates-batch-period=0s",
			"--endpoint-updates-batch-period=0s",
			"--kube-api-qps=200", "--kube-api-burst=400",
		}
	case RoleScheduler:
		args = []string{
			"--kubeconfig=" + w.kubeconfig,
			"--bind-address=" + w.controlAddress.String(),
			"--secure-port=" + strconv.Itoa(portScheduler),
			certificate, key,
			"--leader-elect=false",
			"--profiling=false",
			"--kube-api-qps=200", "--kube-api-burst=400",
		}
	case RoleKwok:
		args = []string{
			"--kubeconfig=" + w.kubeconfig,
			"--config=" + w.filePath("kwok.yaml"),
			"--manage-all-nodes",
			"--node-lease-duration-seconds=" + strconv.Itoa(nodeLeaseSeconds),
		}
		env = []string{"KWOK_WORKDIR=" + w.filePath("kwok")}
	case RoleAgent:
		args = []string{
			"--kubeconfig=" + w.kubeconfig,
			"--layout=" + w.filePath(layoutFile),
			"--certificate=" + w.creds.path("echo.crt"),
			"--key=" + w.creds.path("echo.key"),
		}
	case RoleAWS:
		args = []string{
			"--listen=" + w.controlHostPort(portAWS),
			"--resolver=" + w.controlHostPort(portResolver),
			"--state=" + w.filePath("aws.json"),
			"--seed=" + strconv.Itoa(w.slot.number),
			"--region=" + w.layout.Region,
			"--propagation-delay=" + w.opts.PropagationDelay.String(),
			"--accelerators=" + loopback.Prefix(w.layout.AcceleratorRange()).String(),
		}
		if w.opts.WithoutTraffic {
			args = append(args, "--traffic=false")
		}
		if w.opts.ActiveImmediately {
			args = append(args, "--provisioning-delay=0s")
		}
	}
	if w.opts.ProcessorsPerRole > 0 && role != RoleAWS && role != RoleAgent {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(w.opts.ProcessorsPerRole))
	}
	return append([]string{role}, args...), env
}

// nodeLeaseSeconds is the duration of a node's lease, in seconds. A lease is renewed after a quarter of its duration. The
// duration is long because these renewals are most of the writes of an idle local world.
const nodeLeaseSeconds = 160

// kubeControllers are the controllers of kube-controller-manager that run in a local world.
var kubeControllers = []string{
	"daemonset-controller",
	"deployment-controller",
	"disruption-controller",
	"endpoints-controller",
	"endpointslice-controller",
	"endpointslice-mirroring-controller",
	"garbage-collector-controller",
	"job-controller",
	"namespace-controller",
	"node-lifecycle-controller",
	"pod-garbage-collector-controller",
	"replicaset-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"statefulset-controller",
	"taint-eviction-controller",
}

// Roles returns all roles except RoleConsole, approximately in the order in which they are started.
func Roles() []string {
	return []string{
		RoleEtcd, RoleAWS, RoleAPIServer, RoleControllerManager, RoleScheduler, RoleKwok, RoleAgent, RoleController,
	}
}
