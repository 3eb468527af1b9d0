package emulator

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/ec2"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/sts"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/tagging"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
)

// service is one AWS service as the dispatcher sees it.
type service struct {
	// name is the signing name, by which calls are told apart and logged.
	name string
	// version is that of the form protocols, target the prefix of
	// X-Amz-Target in the JSON protocol.
	version, target string
	codec           wire.Codec
	operations      map[string]wire.Operation
	// unsigned are the operations that need no signature.
	unsigned map[string]bool
}

// services lists everything that the emulator speaks.
func services(w *world.World) []*service {
	ec2s := ec2.New(w)
	return []*service{
		{
			name: "ec2", version: "2016-11-15",
			codec:      wire.EC2Query("http://ec2.amazonaws.com/doc/2016-11-15/"),
			operations: byName(ec2s.Operations()),
		},
		{
			name: "sts", version: "2011-06-15",
			codec:      wire.Query("https://sts.amazonaws.com/doc/2011-06-15/"),
			operations: byName(sts.New(w).Operations()),
			unsigned:   map[string]bool{"AssumeRoleWithWebIdentity": true},
		},
		{
			name: "tagging", target: "ResourceGroupsTaggingAPI_20170126",
			codec:      wire.JSON(),
			operations: byName(tagging.New(w, ec2s).Operations()),
		},
	}
}

func byName(list []wire.Operation) map[string]wire.Operation {
	m := make(map[string]wire.Operation, len(list))
	for _, op := range list {
		m[op.Name] = op
	}
	return m
}
