package main

import (
	"net"
	"net/http"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// h3Service is HTTP/3 on one UDP socket.
type h3Service struct {
	socket   *net.UDPConn
	server   *http3.Server
	listener reportingListener
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
	listener, err := quic.ListenEarly(socket, http3.ConfigureTLSConfig(security), s.quic)
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	return &h3Service{socket, &http3.Server{Handler: files}, reportingListener{listener, newLiveConnections()}}, nil
}

func (s *h3Service) address() net.Addr { return s.socket.LocalAddr() }

func (s *h3Service) serve() error { return s.server.ServeListener(s.listener) }

// close sends CONNECTION_CLOSE on every connection. There is no grace: a client that is not done has been given up on.
func (s *h3Service) close() {
	s.listener.live.closeAll()
	_ = s.server.Close()
	_ = s.listener.Close()
	_ = s.socket.Close()
}
