package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	closeLimit     = 200 * time.Millisecond
	handshakeLimit = 24 * time.Hour // net/http's own server has none: between planets a handshake takes hours
)

var errListenerClosed = errors.New("the listener is closed")

// h2Service is HTTP/2 over TLS 1.3 and nothing else.
type h2Service struct {
	listener *handshakingListener
	server   *http.Server
}

func startH2(options serverOptions, files http.Handler, s *settings) (service, error) {
	security, err := serverTLS(options.certificate, options.key, protocolH2)
	if err != nil {
		return nil, err
	}
	listener, err := listenTCP(options)
	if err != nil {
		return nil, err
	}
	own := security.Clone() // net/http changes its own
	server, err := http2Server(files, security, s.maxConcurrentStreams)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	return &h2Service{newHandshakingListener(listener, own), server}, nil
}

// chooseMultipath makes net open Multipath TCP sockets where the laboratory asks for them, and no others where the
// kernel has them; the oldest Go never does.
func chooseMultipath(opener interface{}) {
	if able, is := opener.(interface{ SetMultipathTCP(bool) }); is {
		able.SetMultipathTCP(os.Getenv("LONGLOOK_MULTIPATH_TCP") == "1")
	}
}

func listenTCP(options serverOptions) (*net.TCPListener, error) {
	if _, err := parseIP(options.address); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	chooseMultipath(&config)
	address := net.JoinHostPort(options.address, strconv.Itoa(options.port))
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return listener.(*net.TCPListener), nil
}

func (s *h2Service) address() net.Addr { return s.listener.Addr() }

func (s *h2Service) serve() error { return s.server.Serve(s.listener) }

// close lets idle connections go with GOAWAY and FIN, and cuts those that are still busy.
func (s *h2Service) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
}

// handshakingListener completes TLS handshakes itself, so that their end is seen when it happens.
type handshakingListener struct {
	*net.TCPListener
	security *tls.Config
	ready    chan net.Conn
	failed   chan error
	closed   chan struct{}
	once     sync.Once
}

func newHandshakingListener(listener *net.TCPListener, security *tls.Config) *handshakingListener {
	l := &handshakingListener{
		TCPListener: listener, security: security,
		ready: make(chan net.Conn), failed: make(chan error, 1), closed: make(chan struct{}),
	}
	go l.acceptAll()
	return l
}

func (l *handshakingListener) acceptAll() {
	for {
		socket, err := l.AcceptTCP()
		if err != nil {
			l.failed <- err
			return
		}
		go l.handshake(socket)
	}
}

func (l *handshakingListener) handshake(socket *net.TCPConn) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	conn := tls.Server(socket, l.security)
	err := shakeHands(ctx, conn)
	if wanted := l.security.NextProtos[0]; err == nil && conn.ConnectionState().NegotiatedProtocol != wanted {
		err = fmt.Errorf("client did not offer %s", wanted)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "handshake with %s: %v\n", socket.RemoteAddr(), err)
		_ = socket.Close()
		return
	}
	handshake := now()
	line := tcpConnectionLine(conn, socket)
	line.THandshakeNs = handshake
	emit(line)
	select {
	case l.ready <- conn:
	case <-l.closed:
		_ = conn.Close()
	}
}

// Accept implements net.Listener.
func (l *handshakingListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.ready:
		return conn, nil
	case err := <-l.failed:
		return nil, err
	case <-l.closed:
		return nil, errListenerClosed
	}
}

// Close implements net.Listener.
func (l *handshakingListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

func tcpConnectionLine(conn *tls.Conn, socket *net.TCPConn) connectionLine {
	return connectionLine{
		Event:             "connection",
		Protocol:          conn.ConnectionState().NegotiatedProtocol,
		Local:             socket.LocalAddr().String(),
		Remote:            socket.RemoteAddr().String(),
		Resumed:           conn.ConnectionState().DidResume,
		CongestionControl: congestionControl(socket),
	}
}

// congestionControl is the kernel's own answer for this very socket.
func congestionControl(socket *net.TCPConn) string {
	raw, err := socket.SyscallConn()
	if err != nil {
		return ""
	}
	var name string
	if controlErr := raw.Control(func(fd uintptr) {
		name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	}); controlErr != nil || err != nil {
		fmt.Fprintln(os.Stderr, "TCP_CONGESTION:", controlErr, err)
		return ""
	}
	return strings.TrimRight(name, "\x00") // older releases of x/sys leave what the kernel padded with
}

// h2Connection is a client's HTTP/2 connection.
type h2Connection struct {
	http   http2Conn
	socket net.Conn
}

// An http2Conn is one HTTP/2 connection of a client.
type http2Conn interface {
	RoundTrip(*http.Request) (*http.Response, error)
	Close() error
}

func dialH2(ctx context.Context, d dialing) (connection, error) {
	socket, err := dialTLS(ctx, d)
	if err != nil {
		return nil, err
	}
	conn, err := http2ClientConn(ctx, d, socket)
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	return &h2Connection{conn, socket}, nil
}

func dialTLS(ctx context.Context, d dialing) (net.Conn, error) {
	var dialer net.Dialer
	chooseMultipath(&dialer)
	if d.from != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: d.from}
	}
	dialed, err := dialer.DialContext(ctx, "tcp", d.remote.String())
	if err != nil {
		return nil, err
	}
	socket := dialed.(*net.TCPConn)
	conn := tls.Client(socket, d.security)
	if err := shakeHands(ctx, conn); err != nil {
		_ = socket.Close()
		return nil, err
	}
	handshake := now()
	line := tcpConnectionLine(conn, socket)
	line.Primes, line.TStartNs, line.THandshakeNs = &d.primes, d.start, handshake
	line.HTTP2StreamWindow, line.HTTP2ConnectionWindow = d.settings.http2Windows.stream, d.settings.http2Windows.connection
	emit(line)
	return conn, nil
}

func (c *h2Connection) roundTrip(request *http.Request) (*http.Response, error) {
	return c.http.RoundTrip(request)
}

func (c *h2Connection) local() string { return c.socket.LocalAddr().String() }

func (c *h2Connection) close() { _ = c.http.Close() }
