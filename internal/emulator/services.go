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

// service is an AWS service with its operations.
type service struct {
	// name is the signing name. It identifies the service in requests and in logs.
	name string
	// version is the parameter Version in the form protocols, and the first segment of paths in the REST protocol.
	// targetPrefix is the prefix of the header X-Amz-Target in the JSON protocol.
	version, targetPrefix string
	codec                 wire.Codec
	operations            map[string]wire.Operation
	// unsignedOperations has the operations that need no signature.
	unsignedOperations map[string]bool
}

// globalAccelerator is the signing name of Global Accelerator, which has endpoints in only one region.
const globalAccelerator = "globalaccelerator"

// services returns all services of the emulator, with w as their state.
func services(w *store.Store) []*service {
	networks, balancers, certificates, accelerators := ec2.New(w), elbv2.New(w), acm.New(w), globalaccelerator.New(w)
	return []*service{
		{
			name: "ec2", version: "2016-11-15",
			codec:      wire.EC2Query("http://ec2.amazonaws.com/doc/2016-11-15/"),
			operations: operationsByName(networks.Operations()),
		},
		{
			name: "elasticloadbalancing", version: "2015-12-01",
			codec:      wire.AWSQuery("http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"),
			operations: operationsByName(balancers.Operations()),
		},
		{
			name: "acm", targetPrefix: "CertificateManager", codec: wire.JSON(),
			operations: operationsByName(certificates.Operations()),
		},
		{
			name: "wafv2", targetPrefix: "AWSWAF_20190729", codec: wire.JSON(),
			operations: operationsByName(wafv2.New(w).Operations()),
		},
		{
			name: "waf-regional", targetPrefix: "AWSWAF_Regional_20161128", codec: wire.JSON(),
			operations: operationsByName(wafregional.New(w).Operations()),
		},
		{
			name: "shield", targetPrefix: "AWSShield_20160616", codec: wire.JSON(),
			operations: operationsByName(shield.New(w).Operations()),
		},
		{
			name: globalAccelerator, targetPrefix: "GlobalAccelerator_V20180706", codec: wire.JSON(),
			operations: operationsByName(accelerators.Operations()),
		},
		{
			name: "route53", version: "2013-04-01",
			codec:      wire.RESTXML("https://route53.amazonaws.com/doc/2013-04-01/", route53.Routes()),
			operations: operationsByName(route53.New(w).Operations()),
		},
		{
			name: "sts", version: "2011-06-15",
			codec:              wire.AWSQuery("https://sts.amazonaws.com/doc/2011-06-15/"),
			operations:         operationsByName(sts.New(w).Operations()),
			unsignedOperations: map[string]bool{"AssumeRoleWithWebIdentity": true},
		},
		{
			name: "iam", version: "2010-05-08",
			codec:      wire.AWSQuery("https://iam.amazonaws.com/doc/2010-05-08/"),
			operations: operationsByName(simulate.New(w).Operations()),
		},
		{
			name: "tagging", targetPrefix: "ResourceGroupsTaggingAPI_20170126", codec: wire.JSON(),
			operations: operationsByName(tagging.New(w, networks, balancers, certificates, accelerators).Operations()),
		},
	}
}

func operationsByName(list []wire.Operation) map[string]wire.Operation {
	m := make(map[string]wire.Operation, len(list))
	for _, op := range list {
		m[op.Name] = op
	}
	return m
}
