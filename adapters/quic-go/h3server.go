package main

import (
	"context"
	"net"
	"net/http"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// h3Service is HTTP/3 on one UDP socket.
type h3Service struct {
	socket *net.UDPConn
	server *http3.Server
}

func startH3(options serverOptions, files http.Handler, s *settings) (service, error) {
	security, err := serverTLS(options.certificate, options.key, http3.NextProtoH3)
	if err != nil {
		return nil, err
	}
	socket, err := listenUDP(options)
	if err != nil {
		return nil, err
	}
	return &h3Service{socket, &http3.Server{
		Handler:    files,
		TLSConfig:  security,
		QUICConfig: s.quic,
		ConnContext: func(ctx context.Context, conn *quic.Conn) context.Context {
			go reportAccepted(conn, protocolH3)
			return ctx
		},
	}}, nil
}

func (s *h3Service) address() net.Addr { return s.socket.LocalAddr() }

func (s *h3Service) serve() error {
	return s.server.Serve(s.socket)
}

// close sends CONNECTION_CLOSE on every connection. There is no grace: a client that is not done has been given up on.
func (s *h3Service) close() {
	_ = s.server.Close()
	_ = s.socket.Close()
}
