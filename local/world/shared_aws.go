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

// layoutFile is the name of the file with the layout in the state directory of a local world. The file exists after the AWS
// of the local world is set up.
const layoutFile = "layout.json"

// checkSharedAWS returns an error unless local world o.AWSOfWorld runs an AWS that a second cluster with these options can
// use.
func (o Options) checkSharedAWS() error {
	l, err := layout.Read(filepath.Join(statePath(o.BaseDir, o.AWSOfWorld), layoutFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("world: no world %d runs under %s; 10.N.0.0/16 is the VPC of world N", o.AWSOfWorld, o.BaseDir)
	case err != nil:
		return err
	case l.AWS == "":
		return fmt.Errorf("world: world %d has no AWS", o.AWSOfWorld)
	case l.AWS != "http://"+hostPort(o.AWSOfWorld, portAWS):
		return fmt.Errorf("world: world %d has no AWS of its own but uses %s; choose the world that runs this AWS", o.AWSOfWorld, l.AWS)
	case l.Cluster == o.Cluster:
		return fmt.Errorf("world: the cluster of world %d also has the name %q, so tags could not distinguish their load balancers; use another cluster name", o.AWSOfWorld, o.Cluster)
	case store.AWSPartitionOfRegion(l.Region).Name != store.AWSPartitionOfRegion(o.Region).Name:
		return fmt.Errorf("world: region %s is in another partition than %s, the region of world %d", o.Region, l.Region, o.AWSOfWorld)
	}
	return nil
}

// hostPort returns the host:port of a port on the control address of the local world with this number.
func hostPort(number, port int) string {
	return loopback.HostPort((&slot{number: number}).Addr(255, 1), port)
}

// awsHostPort returns the host:port of a port of the AWS that local world w uses. Another local world may run this AWS, see
// Options.AWSOfWorld.
func awsHostPort(w *World, port int) string {
	return hostPort(cmp.Or(w.opts.AWSOfWorld, w.slot.number), port)
}
