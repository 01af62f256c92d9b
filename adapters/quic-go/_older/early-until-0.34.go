package main

import (
	"net"

	"github.com/quic-go/quic-go"
)

var earlyDataKnobs = map[string]knob{
	"allow_0rtt": {quicOnly, boolKnob(func(s *settings, on bool) { acceptEarlyData(s.quic, on) })},
}

func acceptEarlyData(q *quic.Config, on bool) { q.Allow0RTT = func(net.Addr) bool { return on } }
