package controller

import (
	"context"
	"strings"
	"sync"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// clusterNameCheck is an engine.Cloud that compares the cluster name with the tags of the first subnets that a run reads.
// The check makes no additional calls. With a wrong cluster name, the controller would not find its existing resources, and
// would create them again.
type clusterNameCheck struct {
	engine.Cloud
	clusterName string
	log         logr.Logger
	once        sync.Once
}

// Observe implements engine.Cloud.
func (c *clusterNameCheck) Observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	have, err := c.Cloud.Observe(ctx, id, questions)
	for _, a := range have.Facts.Subnets {
		if len(a.Candidates) > 0 {
			c.once.Do(func() { c.logMismatch(have.Facts.Subnets) })
			break
		}
	}
	return have, err
}

// logMismatch logs if no subnet has a tag with the cluster name, but some have tags with other names.
func (c *clusterNameCheck) logMismatch(answers map[string]observed.SubnetAnswer) {
	const maxNamed = 10
	others := network.OtherClusterNames(c.clusterName, answers)
	if len(others) == 0 {
		return
	}
	c.log.Info("cluster name matches no subnet tag", "cluster", c.clusterName, "clustersInTags", strings.Join(others[:min(len(others), maxNamed)], ", "),
		"similarName", finding.NearestWord(c.clusterName, others),
		"effect", "resources with another cluster name are not found, and are created again",
		"fix", "set --cluster-name to the name in the tags "+network.ClusterTagPrefix+"NAME, or tag the subnets of this cluster")
}
