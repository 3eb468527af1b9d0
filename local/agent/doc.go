// Package agent replaces kubelet, the network plugin and kube-proxy on the nodes of a local world, as far as load
// balancers depend on them. It registers the nodes, assigns addresses to pods in Kubernetes and in AWS, runs a server for
// each pod, and forwards node ports. kwok writes the status of nodes and pods.
//
// All state of the agent is in the API server, so the agent can be restarted. Until it runs again, no pod responds.
//
// # Annotations of pods
//
//	local.fulcrum/ready: "false"     its containers fail their readiness probes
//	local.fulcrum/status: "503"      every HTTP answer has this status
//	local.fulcrum/sigterm: exit      its program ends on SIGTERM, see below
//	local.fulcrum/address            written by the agent: the address of the pod
//	local.fulcrum/stopped            written by the agent: the program has ended
//
// # Termination
//
// A pod that is being deleted responds to requests while its preStop hook runs: the longest of its containers' hooks of the
// form sleep, or exec of `sleep N`. Without such a hook it responds until its termination grace period is over, like a
// program that ignores SIGTERM; with sigterm: exit it finishes its current requests and ends. It never responds after the
// grace period.
package agent
