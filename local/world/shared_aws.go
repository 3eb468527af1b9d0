package world

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/local/layout"
	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// layoutFile has the layout of a world, in its state directory, once its AWS can be used.
const layoutFile = "layout.json"

// checkNeighbor returns an error unless the world that Beside names has an AWS for a second cluster.
func (o Options) checkNeighbor() error {
	l, err := layout.Read(filepath.Join(statePath(o.Base, o.Beside), layoutFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("world: no world %d runs under %s; 10.N.0.0/16 is the VPC of world N", o.Beside, o.Base)
	case err != nil:
		return err
	case l.AWS == "":
		return fmt.Errorf("world: world %d has no AWS", o.Beside)
	case l.AWS != "http://"+hostPort(o.Beside, portAWS):
		return fmt.Errorf("world: world %d has no AWS of its own but uses %s; name the world that runs it", o.Beside, l.AWS)
	case l.Cluster == o.Cluster:
		return fmt.Errorf("world: the cluster of world %d has the name %q too; tags would not tell their load balancers apart, give this one another name", o.Beside, o.Cluster)
	case store.AWSPartitionOf(l.Region).Name != store.AWSPartitionOf(o.Region).Name:
		return fmt.Errorf("world: region %s is in another partition than %s, the region of world %d", o.Region, l.Region, o.Beside)
	}
	return nil
}

// hostPort is a port on the control address of a world.
func hostPort(number, port int) string {
	return loopback.HostPort((&slot{n: number}).Addr(255, 1), port)
}

// atAWS is a port of the process that is the AWS of a world, which may be that of another one.
func atAWS(w *World, port int) string { return hostPort(cmp.Or(w.opts.Beside, w.slot.n), port) }
