package main

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"os"
)

// What is here needs a recent release of Go, which not every version of quic-go can be built with.

// openerIn opens files below a folder, and nothing outside of it.
func openerIn(folder string) (func(string) (http.File, error), error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return func(name string) (http.File, error) { return root.Open(name) }, nil
}

func shakeHands(ctx context.Context, conn *tls.Conn) error { return conn.HandshakeContext(ctx) }

func onlyHTTP2() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return protocols
}

// http2Server speaks HTTP/2 only; `streams` 0 leaves net/http its own limit.
func http2Server(files http.Handler, security *tls.Config, streams int) (*http.Server, error) {
	return &http.Server{
		Handler:   files,
		TLSConfig: security,
		Protocols: onlyHTTP2(),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: streams},
		ErrorLog:  log.New(os.Stderr, "", 0),
	}, nil
}

// firstHTTP2Window is the connection's before any WINDOW_UPDATE (RFC 9113, 6.9.2); net/http adds its own to it.
const firstHTTP2Window = 65_535

// usualHTTP2Windows are those of net/http's client. Only its sources name them, so that it is always given them.
var usualHTTP2Windows = http2Windows{stream: 4 << 20, connection: 1<<30 + firstHTTP2Window}

// http2Knobs are a client's over TCP. net/http takes what is out of its bounds for "not set", so these are checked here.
var http2Knobs = map[string]knob{
	"http2_stream_window": {overHTTP2, windowKnob(1, func(s *settings, n int) { s.http2Windows.stream = n })},
	"http2_connection_window": {overHTTP2, windowKnob(2*firstHTTP2Window, func(s *settings, n int) {
		s.http2Windows.connection = n
	})},
}

// http2ClientConn is HTTP/2 on a TLS connection that is complete.
func http2ClientConn(ctx context.Context, d dialing, socket net.Conn) (http2Conn, error) {
	transport := &http.Transport{
		Protocols: onlyHTTP2(),
		HTTP2: &http.HTTP2Config{
			StrictMaxConcurrentRequests:   true,
			MaxReceiveBufferPerStream:     d.settings.http2Windows.stream,
			MaxReceiveBufferPerConnection: d.settings.http2Windows.connection - firstHTTP2Window,
		},
		DisableCompression: true,
		TLSClientConfig:    d.security,
		DialTLSContext:     func(context.Context, string, string) (net.Conn, error) { return socket, nil },
	}
	return transport.NewClientConn(ctx, "https", d.remote.String())
}

// copiedSession shares nothing with the session: QUIC connections write to the state that they resume from. Some versions
// send early data whenever a ticket allows it, asked or not.
func copiedSession(session *tls.ClientSessionState, early bool) (*tls.ClientSessionState, error) {
	ticket, state, err := session.ResumptionState()
	if err != nil {
		return nil, err
	}
	text, err := state.Bytes()
	if err != nil {
		return nil, err
	}
	if state, err = tls.ParseSessionState(text); err != nil {
		return nil, err
	}
	state.EarlyData = state.EarlyData && early
	return tls.NewResumptionState(ticket, state)
}
