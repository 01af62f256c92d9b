package main

import (
	"errors"
	"testing"
)

func TestKnobsAreApplied(t *testing.T) {
	s, err := newSettings(protocolH3, map[string]string{
		"initial_stream_window": "1000000", "max_stream_window": "2000000",
		"initial_connection_window": "3000000", "max_connection_window": "4000000",
		"initial_packet_size": "1350", "disable_pmtud": "true", "allow_0rtt": "false", "max_incoming_streams": "7",
	}, serving)
	if err != nil {
		t.Fatal(err)
	}
	q := s.quic
	if q.InitialStreamReceiveWindow != 1e6 || q.MaxStreamReceiveWindow != 2e6 ||
		q.InitialConnectionReceiveWindow != 3e6 || q.MaxConnectionReceiveWindow != 4e6 ||
		q.InitialPacketSize != 1350 || !q.DisablePathMTUDiscovery || q.Allow0RTT || q.MaxIncomingStreams != 7 {
		t.Errorf("not applied: %+v", q)
	}
}

func TestKnobsThatAreRefused(t *testing.T) {
	cases := []struct {
		name, protocol, knob, value string
		as                          role
		unsupported                 bool
	}{
		{"unknown", protocolH3, "colour", "red", serving, true},
		{"of the server only", protocolH3, "max_incoming_streams", "7", fetching, true},
		{"of QUIC only", protocolH2, "disable_pmtud", "true", serving, true},
		{"too small a packet", protocolH3, "initial_packet_size", "1199", serving, false},
		{"too large a packet", protocolH3, "initial_packet_size", "1453", serving, false},
		{"zero window", protocolH3, "max_stream_window", "0", serving, false},
		{"negative window", protocolH3, "max_stream_window", "-1", serving, false},
		{"of HTTP/2 only", protocolH3, "http2_stream_window", "7", fetching, true},
		{"of clients over TCP", protocolH2, "http2_stream_window", "7", serving, true},
		{"no window", protocolH2, "http2_stream_window", "0", fetching, false},
		{"more than HTTP/2 allows", protocolH2, "http2_stream_window", "2147483648", fetching, false},
		{"less than net/http adds", protocolH2, "http2_connection_window", "131069", fetching, false},
		{"of clients that choose", protocolH3, "fallback_delay", "0.1", fetching, true},
		{"of clients alone", protocolEither, "stall_timeout", "1", serving, true},
		{"no time", protocolEither, "stall_timeout", "NaN", fetching, false},
		{"a negative time", protocolEither, "fallback_delay", "-0.1", fetching, false},
		{"no port", protocolEither, "alt_svc_port", "65536", serving, false},
		{"of servers with two protocols", protocolH2, "alt_svc_port", "443", serving, true},
		{"not a truth value", protocolH3, "disable_pmtud", "1", serving, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := newSettings(c.protocol, map[string]string{c.knob: c.value}, c.as)
			if err == nil {
				t.Fatal("accepted")
			}
			if got := errors.As(err, new(unsupportedError)); got != c.unsupported {
				t.Errorf("unsupported = %v: %v", got, err)
			}
		})
	}
}

func TestStreamLimitMeansTheSameOverTCP(t *testing.T) {
	s, err := newSettings(protocolH2, map[string]string{"max_incoming_streams": "7"}, serving)
	if err != nil {
		t.Fatal(err)
	}
	if s.maxConcurrentStreams != 7 {
		t.Errorf("maxConcurrentStreams = %d", s.maxConcurrentStreams)
	}
}

func TestWindowsOfHTTP2(t *testing.T) {
	cases := []struct {
		knobs map[string]string
		want  http2Windows
	}{
		{nil, http2Windows{4_194_304, 1_073_807_359}},
		{map[string]string{"http2_stream_window": "1"}, http2Windows{1, 1_073_807_359}},
		{map[string]string{"http2_connection_window": "131070"}, http2Windows{4_194_304, 131_070}},
		{map[string]string{"http2_connection_window": "2147483647"}, http2Windows{4_194_304, 2_147_483_647}},
	}
	for _, c := range cases {
		s, err := newSettings(protocolH2, c.knobs, fetching)
		if err != nil || s.http2Windows != c.want {
			t.Errorf("%v: %+v, %v; want %+v", c.knobs, s.http2Windows, err, c.want)
		}
	}
}

func TestInitialWindowsStayWithinTheLargest(t *testing.T) {
	s, err := newSettings(protocolH3, map[string]string{"max_stream_window": "1000", "max_connection_window": "2000000"}, fetching)
	if err != nil {
		t.Fatal(err)
	}
	if s.quic.InitialStreamReceiveWindow != 1000 || s.quic.InitialConnectionReceiveWindow != 0 {
		t.Errorf("%d %d", s.quic.InitialStreamReceiveWindow, s.quic.InitialConnectionReceiveWindow)
	}
	_, err = newSettings(protocolH3, map[string]string{"max_stream_window": "1000", "initial_stream_window": "1001"}, fetching)
	if !errors.As(err, new(usageError)) {
		t.Errorf("accepted: %v", err)
	}
}
