package world

import (
	"context"
	"errors"
)

// awsHealthPath answers once the emulator serves.
const awsHealthPath = "/_fulcrum/health"

func (w *World) startAWS(context.Context) error {
	return errors.New("world: the AWS emulator is not part of this build; set Options.WithoutAWS")
}
