package main

import (
	"context"
	"net"

	"github.com/quic-go/quic-go"
)

// dialFrom opens a connection from a socket. With d.early, it returns as soon as early data may be sent.
// The function that it returns leaves the socket.
func dialFrom(ctx context.Context, socket *net.UDPConn, d dialing) (quicConn, func(), error) {
	transport := &quic.Transport{Conn: socket}
	leave := func() { _ = transport.Close() }
	dial := transport.Dial
	if d.early {
		dial = transport.DialEarly
	}
	conn, err := dial(ctx, d.remote, d.security, d.settings.quic)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return conn, leave, nil
}
