package service

import (
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Withdrawn is empty: a Service refers to nothing of other namespaces, and its class does not change.
func (*Frontend) Withdrawn(*cluster.View, model.StackID, observed.Stack) (model.Withdrawn, []model.Question) {
	return model.Withdrawn{}, nil
}
