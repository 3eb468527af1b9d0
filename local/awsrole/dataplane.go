package awsrole

import (
	"context"
	"log/slog"
	"os"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// startDataPlane starts the listeners of load balancers and the resolution of their names. With
// --enforce-security-groups a missing security group rule makes connections fail, as in AWS.
func (f flags) startDataPlane(ctx context.Context, em *emulator.Emulator) (stop func(), err error) {
	s, err := serve.Start(ctx, em, serve.Options{
		Resolver:              f.resolver,
		EnforceSecurityGroups: f.enforceSecurityGroups,
		PropagationDelay:      f.propagationDelay,
		Plane:                 dataplane.Options{DialAddress: loopback.TargetAddrPort},
		Log:                   slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return nil, err
	}
	return s.Close, nil
}
