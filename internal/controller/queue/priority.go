package queue

import (
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// The priorities of a queue, higher first: traffic that would go to the wrong place does not wait for others,
// what others have changed in AWS comes behind what users change, and looking again at what has not changed
// waits for everybody.
const (
	priorityTargets = 10
	priorityEdits   = 0
	priorityDrift   = -50
	priorityResync  = -100
)

// priorityOf returns where the items that an event concerns are queued.
func priorityOf(e kube.Event) int {
	if e.Stale {
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

// priorityName returns the name of the priority that an item was queued at. Items are put back by less than priorities
// are apart.
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
