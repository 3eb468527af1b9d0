package agent

import (
	"context"
	"net/netip"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// mirror tells AWS which addresses a node has. Both methods may be called
// again with what is already true.
type mirror interface {
	Assign(ctx context.Context, n layout.Node, a netip.Addr) error
	Unassign(ctx context.Context, n layout.Node, a netip.Addr) error
}

// newMirror chooses by whether the world has an AWS.
func newMirror(layout.Layout) mirror { return noMirror{} }

// noMirror is the mirror of a world without AWS.
type noMirror struct{}

func (noMirror) Assign(context.Context, layout.Node, netip.Addr) error   { return nil }
func (noMirror) Unassign(context.Context, layout.Node, netip.Addr) error { return nil }
