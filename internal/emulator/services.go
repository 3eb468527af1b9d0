package emulator

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/acm"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/ec2"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/elbv2"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/globalaccelerator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/route53"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/shield"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/simulate"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/sts"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/tagging"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wafregional"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wafv2"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// service is one AWS service for the dispatcher.
type service struct {
	// name is the signing name, which identifies the service of calls, also in logs.
	name string
	// version is the parameter Version of the form protocols, and the first segment of
	// paths in the REST protocol. target is the prefix of X-Amz-Target in the JSON protocol.
	version, target string
	codec           wire.Codec
	operations      map[string]wire.Operation
	// unsigned has the operations that need no signature.
	unsigned map[string]bool
}

// globalAccelerator is the signing name of Global Accelerator, which has endpoints in one region only.
const globalAccelerator = "globalaccelerator"

// services lists all services of the emulator.
func services(w *store.Store) []*service {
	networks, balancers, certificates, accelerators := ec2.New(w), elbv2.New(w), acm.New(w), globalaccelerator.New(w)
	return []*service{
		{
			name: "ec2", version: "2016-11-15",
			codec:      wire.EC2Query("http://ec2.amazonaws.com/doc/2016-11-15/"),
			operations: byName(networks.Operations()),
		},
		{
			name: "elasticloadbalancing", version: "2015-12-01",
			codec:      wire.Query("http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"),
			operations: byName(balancers.Operations()),
		},
		{
			name: "acm", target: "CertificateManager", codec: wire.JSON(),
			operations: byName(certificates.Operations()),
		},
		{
			name: "wafv2", target: "AWSWAF_20190729", codec: wire.JSON(),
			operations: byName(wafv2.New(w).Operations()),
		},
		{
			name: "waf-regional", target: "AWSWAF_Regional_20161128", codec: wire.JSON(),
			operations: byName(wafregional.New(w).Operations()),
		},
		{
			name: "shield", target: "AWSShield_20160616", codec: wire.JSON(),
			operations: byName(shield.New(w).Operations()),
		},
		{
			name: globalAccelerator, target: "GlobalAccelerator_V20180706", codec: wire.JSON(),
			operations: byName(accelerators.Operations()),
		},
		{
			name: "route53", version: "2013-04-01",
			codec:      wire.RESTXML("https://route53.amazonaws.com/doc/2013-04-01/", route53.Routes()),
			operations: byName(route53.New(w).Operations()),
		},
		{
			name: "sts", version: "2011-06-15",
			codec:      wire.Query("https://sts.amazonaws.com/doc/2011-06-15/"),
			operations: byName(sts.New(w).Operations()),
			unsigned:   map[string]bool{"AssumeRoleWithWebIdentity": true},
		},
		{
			name: "iam", version: "2010-05-08",
			codec:      wire.Query("https://iam.amazonaws.com/doc/2010-05-08/"),
			operations: byName(simulate.New(w).Operations()),
		},
		{
			name: "tagging", target: "ResourceGroupsTaggingAPI_20170126", codec: wire.JSON(),
			operations: byName(tagging.New(w, networks, balancers, certificates, accelerators).Operations()),
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
