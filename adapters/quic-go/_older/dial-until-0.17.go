package main

import (
	"context"
	"net"

	"github.com/quic-go/quic-go"
)

// dialFrom opens a connection from a socket. With d.early, it returns as soon as early data may be sent.
// The function that it returns leaves the socket.
func dialFrom(ctx context.Context, socket *net.UDPConn, d dialing) (quicConn, func(), error) {
	if !d.early {
		plain, err := quic.DialContext(ctx, socket, d.remote, d.security.ServerName, d.security, d.settings.quic)
		if err != nil {
			return nil, nil, err
		}
		return plain.(quicConn), func() {}, nil // the very type that DialEarly returns
	}
	plain, err := quic.DialEarly(socket, d.remote, d.security.ServerName, d.security, d.settings.quic)
	if err != nil {
		return nil, nil, err
	}
	return plain.(quicConn), func() {}, nil
}
