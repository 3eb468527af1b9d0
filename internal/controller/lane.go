package controller

import (
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// The lanes of a queue, higher first: traffic that would go to the wrong place does not wait for others,
// what others have changed in AWS comes behind what users change, and looking again at what has not changed
// waits for everybody.
const (
	laneTargets = 10
	laneEdits   = 0
	laneDrift   = -50
	laneResync  = -100
)

// laneOf is where the items that an event concerns are queued.
func laneOf(e kube.Event) int {
	if e.Stale {
		return laneResync
	}
	obj := e.New
	if obj == nil {
		obj = e.Old
	}
	switch k, _ := cluster.KindOf(obj); k {
	case cluster.KindEndpointSlice, cluster.KindPod, cluster.KindNode:
		return laneTargets
	}
	return laneEdits
}
