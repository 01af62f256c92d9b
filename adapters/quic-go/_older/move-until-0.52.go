package main

import (
	"context"
)

// moveKnobs are none: no client before AddPath changes its address.
var moveKnobs = map[string]knob{}

// withMoves is the connection itself.
func withMoves(_ context.Context, conn connection, _ dialing, _ string) (connection, error) {
	return conn, nil
}

// A mover exists in newer versions only.
type mover struct{ connection }

func (m *mover) fetchMoving(string, string, int64) objectLine { panic("nothing moves") }
