package main

import "github.com/quic-go/quic-go"

var windowKnobs = map[string]knob{
	"max_stream_window":     {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.MaxReceiveStreamFlowControlWindow = n })},
	"max_connection_window": {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.MaxReceiveConnectionFlowControlWindow = n })},
}

func limitStreams(q *quic.Config, n uint64) { q.MaxIncomingStreams = int(n) }

// boundWindows has nothing to do: windows cannot be set at first.
func boundWindows(*quic.Config) error { return nil }
