package main

import (
	"net"

	"github.com/quic-go/quic-go"
)

// Servers accept early data always, and answer a client that they have not seen with a Retry, unless the knob forbids it.
var earlyDataKnobs = map[string]knob{
	"retry": {quicOnly, boolKnob(func(s *settings, on bool) {
		if !on {
			s.quic.AcceptToken = func(net.Addr, *quic.Token) bool { return true }
		}
	})},
}

func acceptEarlyData(*quic.Config, bool) {}
