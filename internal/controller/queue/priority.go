package queue

import (
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// The priorities of items in a queue, highest first. Changes of targets come first, because traffic may otherwise go to
// wrong addresses. Then come edits of users, drift, and comparisons of unchanged items with AWS.
const (
	priorityTargets = 10
	priorityEdits   = 0
	priorityDrift   = -50
	priorityResync  = -100
)

// priorityOf returns the priority of the items that an event of the cluster affects.
func priorityOf(e kube.Event) int {
	if e.Unchanged {
		return priorityResync
	}
	obj := e.New
	if obj == nil {
		obj = e.Old
	}
	switch k, _ := cluster.KindOf(obj); k {
	case cluster.KindEndpointSlice, cluster.KindPod, cluster.KindNode:
		return priorityTargets
	}
	return priorityEdits
}

// priorityName returns the name of a priority in metrics. The priority may have been reduced by up to maxTenantPenalty.
func priorityName(priority int) string {
	switch {
	case priority > priorityEdits:
		return "targets"
	case priority > priorityDrift:
		return "edits"
	case priority > priorityResync:
		return "drift"
	}
	return "resync"
}
