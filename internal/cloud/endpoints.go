package cloud

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/enis"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// endpoints is the part of a Cloud that reads the ENIs and security groups of nodes and pods, and changes their rules.
type endpoints struct {
	eniReader *enis.ENIs
	reader    *observe.Reader
}

// VPCRanges implements bindings.Cloud.
func (e endpoints) VPCRanges(ctx context.Context, vpc string) ([]string, error) {
	return e.eniReader.VPCRanges(ctx, vpc)
}

// ENIs implements bindings.EndpointSecurityGroups.
func (e endpoints) ENIs(ctx context.Context, q bindings.ENIQuery) (bindings.ENIs, error) {
	return e.eniReader.ENIs(ctx, q)
}

// EndpointSecurityGroups implements bindings.EndpointSecurityGroups.
func (e endpoints) EndpointSecurityGroups(ctx context.Context, ids []string, maxAge time.Duration) ([]bindings.EndpointSecurityGroup, error) {
	return e.eniReader.EndpointSecurityGroups(ctx, ids, maxAge)
}

// SecurityGroupsAdmitting implements bindings.EndpointSecurityGroups.
func (e endpoints) SecurityGroupsAdmitting(ctx context.Context, sources []string) (map[string][]string, error) {
	own, err := e.reader.OwnSecurityGroups(ctx, sources)
	if err != nil {
		return nil, err
	}
	return e.eniReader.SecurityGroupsAdmitting(ctx, own)
}

// ChangedEndpointSecurityGroups implements bindings.EndpointSecurityGroups.
func (e endpoints) ChangedEndpointSecurityGroups(ctx context.Context) ([]string, error) {
	return e.eniReader.ChangedEndpointSecurityGroups(callerForDrift(ctx))
}

// ChangeEndpointRules implements bindings.EndpointSecurityGroups.
func (e endpoints) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	return e.eniReader.ChangeEndpointRules(ctx, group, authorize, revoke)
}
