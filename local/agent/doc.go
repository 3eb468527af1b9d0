// Package agent does on the nodes of a local world what kubelet, the network plugin and
// kube-proxy do on real ones, as far as load balancers depend on it: it registers the
// nodes, gives pods addresses (in AWS, too), runs a server for each pod, and forwards
// node ports. The states of nodes and pods are written by kwok; package world has the
// table of how they work together.
//
// All its state is in the API server, so it can be killed and started again; only the
// servers of the pods are down meanwhile.
//
// # Annotations of pods
//
//	local.fulcrum/ready: "false"     its containers fail their readiness probes
//	local.fulcrum/status: "503"      every HTTP answer has this status
//	local.fulcrum/sigterm: exit      it ends as soon as it is asked to, see below
//	local.fulcrum/address            written by the agent: it serves there
//	local.fulcrum/stopped            written by the agent: it has ended
//
// # Ending
//
// A pod that is deleted serves on while its preStop hook runs (the longest of
// its containers' hooks of the form sleep, or exec of `sleep N`). A pod
// without such a hook serves until its termination grace period is over, as a
// program does that ignores the signal; with sigterm: exit it finishes the
// requests that it has and ends at once. In each case the grace period is the
// limit.
package agent
