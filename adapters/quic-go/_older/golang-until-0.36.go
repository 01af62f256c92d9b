package main

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/net/http2"
)

// What is here stands in for what the releases of Go lack that build these versions. Their HTTP/2 is golang.org/x/net/http2,
// which is where the one of net/http comes from, because that cannot keep to one connection.

// openerIn opens files below a folder; paths are clean already.
func openerIn(folder string) (func(string) (http.File, error), error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, err
	}
	return func(name string) (http.File, error) { return http.Dir(folder).Open("/" + name) }, nil
}

func shakeHands(ctx context.Context, conn *tls.Conn) error {
	if deadline, set := ctx.Deadline(); set {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if err := conn.Handshake(); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// http2Server speaks HTTP/2 only; `streams` 0 leaves http2 its own limit.
func http2Server(files http.Handler, security *tls.Config, streams int) (*http.Server, error) {
	server := &http.Server{Handler: files, TLSConfig: security, ErrorLog: log.New(os.Stderr, "", 0)}
	return server, http2.ConfigureServer(server, &http2.Server{MaxConcurrentStreams: uint32(streams)})
}

// oneHTTP2Conn closes its socket.
type oneHTTP2Conn struct {
	*http2.ClientConn
	socket net.Conn
}

func (c oneHTTP2Conn) Close() error { return c.socket.Close() }

// usualHTTP2Windows are those of golang.org/x/net/http2's client, which cannot be set.
var usualHTTP2Windows = http2Windows{stream: 4 << 20, connection: 1<<30 + 65_535}

var http2Knobs = map[string]knob{}

// http2ClientConn is HTTP/2 on a TLS connection that is complete.
func http2ClientConn(_ context.Context, _ dialing, socket net.Conn) (http2Conn, error) {
	transport := &http2.Transport{DisableCompression: true, StrictMaxConcurrentStreams: true}
	conn, err := transport.NewClientConn(socket)
	return oneHTTP2Conn{conn, socket}, err
}

// copiedSession is a copy as deep as is needed: QUIC connections put another nonce into the state that they resume from.
func copiedSession(session *tls.ClientSessionState, _ bool) (*tls.ClientSessionState, error) {
	own := *session
	return &own, nil
}
