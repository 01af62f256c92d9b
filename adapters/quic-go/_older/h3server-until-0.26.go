package main

import (
	"crypto/tls"
	"net"
	"net/http"
	_ "unsafe" // for linkname

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// quicListen is how http3 listens. It neither serves a listener of ours nor shows its connections otherwise.
//
//go:linkname quicListen github.com/quic-go/quic-go/http3.quicListen
var quicListen func(net.PacketConn, *tls.Config, *quic.Config) (quic.EarlyListener, error)

// h3Service is HTTP/3 on one UDP socket.
type h3Service struct {
	socket *net.UDPConn
	server *http3.Server
	live   *liveConnections
}

func startH3(options serverOptions, files http.Handler, s *settings) (service, error) {
	security, err := serverTLS(options.certificate, options.key, protocolH3)
	if err != nil {
		return nil, err
	}
	socket, err := listenUDP(options)
	if err != nil {
		return nil, err
	}
	live := newLiveConnections()
	listen := quicListen
	quicListen = func(conn net.PacketConn, security *tls.Config, config *quic.Config) (quic.EarlyListener, error) {
		listener, err := listen(conn, security, config)
		return reportingListener{listener, live}, err
	}
	under := &http.Server{Handler: files, TLSConfig: security}
	return &h3Service{socket, &http3.Server{Server: under, QuicConfig: s.quic}, live}, nil
}

func (s *h3Service) address() net.Addr { return s.socket.LocalAddr() }

func (s *h3Service) serve() error { return s.server.Serve(s.socket) }

// close sends CONNECTION_CLOSE on every connection. There is no grace: a client that is not done has been given up on.
func (s *h3Service) close() {
	s.live.closeAll()
	_ = s.server.Close()
	_ = s.socket.Close()
}
