package main

import (
	"fmt"

	"github.com/quic-go/quic-go"
)

// Windows that quic-go offers at first.
const (
	defaultStreamWindow     = 512 << 10
	defaultConnectionWindow = defaultStreamWindow * 3 / 2
)

var windowKnobs = map[string]knob{
	"initial_stream_window":     {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.InitialStreamReceiveWindow = n })},
	"max_stream_window":         {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.MaxStreamReceiveWindow = n })},
	"initial_connection_window": {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.InitialConnectionReceiveWindow = n })},
	"max_connection_window":     {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.MaxConnectionReceiveWindow = n })},
	"disable_pmtud":             {quicOnly, boolKnob(func(s *settings, on bool) { s.quic.DisablePathMTUDiscovery = on })},
}

func limitStreams(q *quic.Config, n uint64) { q.MaxIncomingStreams = int64(n) }

// boundWindows keeps each initial window within the largest one.
func boundWindows(q *quic.Config) error {
	if err := bound("stream", &q.InitialStreamReceiveWindow, q.MaxStreamReceiveWindow, defaultStreamWindow); err != nil {
		return err
	}
	return bound("connection", &q.InitialConnectionReceiveWindow, q.MaxConnectionReceiveWindow, defaultConnectionWindow)
}

// bound does so for one window; quic-go itself would offer its default all the same.
func bound(what string, initial *uint64, largest, byDefault uint64) error {
	if largest == 0 {
		return nil
	}
	if *initial > largest {
		return usageError{fmt.Errorf("initial_%s_window %d is larger than max_%s_window %d", what, *initial, what, largest)}
	}
	if *initial == 0 && byDefault > largest {
		*initial = largest
	}
	return nil
}
