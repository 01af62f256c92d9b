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
	conn, err := dialWith(ctx, transport, d)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return conn, leave, nil
}

func dialWith(ctx context.Context, transport *quic.Transport, d dialing) (quicConn, error) {
	if d.early {
		return transport.DialEarly(ctx, d.remote, d.security, d.settings.quic)
	}
	plain, err := transport.Dial(ctx, d.remote, d.security, d.settings.quic)
	if err != nil {
		return nil, err
	}
	return plain.(quicConn), nil // the very type that DialEarly returns
}
