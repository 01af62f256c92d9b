package main

import "github.com/quic-go/quic-go"

var earlyDataKnobs = map[string]knob{
	"allow_0rtt": {quicOnly, boolKnob(func(s *settings, on bool) { acceptEarlyData(s.quic, on) })},
}

func acceptEarlyData(q *quic.Config, on bool) { q.Allow0RTT = on }
