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

func listenUDP(options serverOptions) (*net.UDPConn, error) {
	ip, err := parseIP(options.address)
	if err != nil {
		return nil, err
	}
	return net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: options.port})
}

// reportAccepted prints the server's connection line once the handshake is complete.
func reportAccepted(conn *quic.Conn, protocol string) {
	select {
	case <-conn.HandshakeComplete():
		line := quicConnectionLine(conn, protocol)
		line.THandshakeNs = now()
		emit(line)
	case <-conn.Context().Done():
	}
}

func quicConnectionLine(conn *quic.Conn, protocol string) connectionLine {
	state := conn.ConnectionState()
	return connectionLine{
		Event:    "connection",
		Protocol: protocol,
		Local:    conn.LocalAddr().String(),
		Remote:   conn.RemoteAddr().String(),
		Resumed:  state.TLS.DidResume,
		Used0RTT: state.Used0RTT,
		GSO:      &state.GSO,
	}
}

// quicConnection is a client's connection with its own socket.
type quicConnection struct {
	socket    *net.UDPConn
	transport *quic.Transport
	conn      *quic.Conn
	reported  chan struct{} // closed when the connection line is out, or will never be
}

// dialQUIC opens a connection from a fresh socket. With d.early, it returns as soon as early data may be sent.
func dialQUIC(ctx context.Context, d dialing) (*quicConnection, error) {
	socket, err := socketTowards(d.remote)
	if err != nil {
		return nil, err
	}
	transport := &quic.Transport{Conn: socket}
	dial := transport.Dial
	if d.early {
		dial = transport.DialEarly
	}
	conn, err := dial(ctx, net.UDPAddrFromAddrPort(d.remote), d.security, d.settings.quic)
	if err != nil {
		_ = transport.Close()
		_ = socket.Close()
		return nil, err
	}
	connection := &quicConnection{socket, transport, conn, make(chan struct{})}
	go func() {
		defer close(connection.reported)
		select {
		case <-conn.HandshakeComplete():
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

// close tells the server, and returns when that packet is on its way and the connection line is out.
func (c *quicConnection) close(code quic.ApplicationErrorCode) {
	_ = c.conn.CloseWithError(code, "")
	<-c.reported
	_ = c.transport.Close()
	_ = c.socket.Close()
}

// h3Connection is a client's HTTP/3 connection.
type h3Connection struct {
	*quicConnection
	http  *http3.ClientConn
	early bool
}

func dialH3(ctx context.Context, d dialing) (connection, error) {
	under, err := dialQUIC(ctx, d)
	if err != nil {
		return nil, err
	}
	upper := &http3.Transport{DisableCompression: true, QUICConfig: d.settings.quic}
	return &h3Connection{under, upper.NewClientConn(under.conn), d.early}, nil
}

func (c *h3Connection) roundTrip(request *http.Request) (*http.Response, error) {
	if c.early { // does not wait for the handshake
		request.Method = http3.MethodGet0RTT
	}
	return c.http.RoundTrip(request)
}

func (c *h3Connection) close() {
	c.quicConnection.close(quic.ApplicationErrorCode(http3.ErrCodeNoError))
}
