package service

import (
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// WithdrawnResources returns nothing, because a Service does not refer to objects in other namespaces, and its class cannot
// be changed.
func (*Frontend) WithdrawnResources(*cluster.View, model.StackID, observed.Stack) (model.Withdrawn, []model.Question) {
	return model.Withdrawn{}, nil
}
