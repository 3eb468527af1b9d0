package controller

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Accelerators have the back-off of their own flag, and no other stack has.
func TestAcceleratorsBackOffByTheirFlag(t *testing.T) {
	c := config.Default()
	c.Workers.AcceleratorMaxBackoff = time.Minute
	slow := slowAccelerators(c)
	if slow.First != 5*time.Second || slow.Longest != time.Minute {
		t.Errorf("%+v", slow)
	}
	for _, kind := range []model.Kind{model.Ingress, model.Service, model.ALBGateway, model.NLBGateway, "GlobalAccelerator"} {
		if got, want := slow.Has(model.StackID{Kind: kind, Namespace: "shop", Name: "web"}), kind == "GlobalAccelerator"; got != want {
			t.Errorf("%s: %t", kind, got)
		}
	}
}
