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

// nameChecked compares the name of the cluster with the tags of the first subnets that a run asks for, and makes no call of
// its own. With a wrong name the controller finds nothing that it has made, and makes it again.
type nameChecked struct {
	engine.Cloud
	name string
	log  logr.Logger
	once sync.Once
}

// Observe implements engine.Cloud.
func (c *nameChecked) Observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	have, err := c.Cloud.Observe(ctx, id, questions)
	for _, a := range have.Facts.Subnets {
		if len(a.Candidates) > 0 {
			c.once.Do(func() { c.check(have.Facts.Subnets) })
			break
		}
	}
	return have, err
}

func (c *nameChecked) check(answers map[string]observed.SubnetAnswer) {
	const most = 10
	others := network.OtherClusters(c.name, answers)
	if len(others) == 0 {
		return
	}
	c.log.Info("cluster name fits no subnet", "cluster", c.name, "clustersInTags", strings.Join(others[:min(len(others), most)], ", "),
		"meant", finding.Nearest(c.name, others),
		"effect", "what was made under another name is not found, and is made again",
		"fix", "set --cluster-name to the name in the tags "+network.ClusterTag+"NAME, or tag the subnets of this cluster")
}
