package main

import (
	"context"
	"net"
)

func listenUDP(options serverOptions) (*net.UDPConn, error) {
	ip, err := parseIP(options.address)
	if err != nil {
		return nil, err
	}
	return net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: options.port})
}

// reportAccepted prints the server's connection line once the handshake is complete.
func reportAccepted(conn quicConn, protocol string) {
	select {
	case <-handshakeDone(conn):
		line := quicConnectionLine(conn, protocol)
		line.THandshakeNs = now()
		emit(line)
	case <-conn.Context().Done():
	}
}

func quicConnectionLine(conn quicConn, protocol string) connectionLine {
	line := connectionLine{
		Event:    "connection",
		Protocol: protocol,
		Local:    conn.LocalAddr().String(),
		Remote:   conn.RemoteAddr().String(),
	}
	fillState(&line, conn)
	return line
}

// quicConnection is a client's connection with its own socket.
type quicConnection struct {
	socket   *net.UDPConn
	leave    func() // the socket
	conn     quicConn
	reported chan struct{} // closed when the connection line is out, or will never be
}

// dialQUIC opens a connection from a fresh socket. With d.early, it returns as soon as early data may be sent.
func dialQUIC(ctx context.Context, d dialing) (*quicConnection, error) {
	socket, err := socketTowards(d.remote)
	if err != nil {
		return nil, err
	}
	conn, leave, err := dialFrom(ctx, socket, d)
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	connection := &quicConnection{socket, leave, conn, make(chan struct{})}
	go func() {
		defer close(connection.reported)
		select {
		case <-handshakeDone(conn):
			handshake := now()
			line := quicConnectionLine(conn, d.protocol)
			line.Primes, line.TStartNs, line.THandshakeNs = &d.primes, d.start, handshake
			emit(line)
		case <-conn.Context().Done():
		}
	}()
	return connection, nil
}

func (c *quicConnection) local() string { return c.conn.LocalAddr().String() }

// close informs the server, and returns when that packet is sent and the connection line is printed.
func (c *quicConnection) close(code uint64) {
	closeConn(c.conn, code)
	<-c.reported
	c.leave()
	_ = c.socket.Close()
}
