package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/quic-go/quic-go"
)

// protocolHQ is HTTP/0.9 over QUIC, one request per stream: what most test cases of the QUIC interop runner speak.
const protocolHQ = "hq-interop"

const longestRequest = 8 << 10

type hqService struct {
	socket   *net.UDPConn
	listener *quic.EarlyListener
	files    http.Handler
	live     *liveConnections
}

func startHQ(options serverOptions, files http.Handler, s *settings) (service, error) {
	security, err := serverTLS(options.certificate, options.key, protocolHQ)
	if err != nil {
		return nil, err
	}
	socket, err := listenUDP(options)
	if err != nil {
		return nil, err
	}
	listener, err := quic.ListenEarly(socket, security, s.quic)
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	return &hqService{socket, listener, files, newLiveConnections()}, nil
}

func (s *hqService) address() net.Addr { return s.socket.LocalAddr() }

func (s *hqService) serve() error {
	for {
		conn, err := s.listener.Accept(context.Background())
		if err != nil {
			return err
		}
		s.live.add(conn)
		go reportAccepted(conn, protocolHQ)
		go s.serveConnection(conn)
	}
}

func (s *hqService) close() {
	_ = s.listener.Close()
	s.live.closeAll()
	_ = s.socket.Close()
}

func (s *hqService) serveConnection(conn *quic.Conn) {
	defer s.live.remove(conn)
	for {
		stream, err := conn.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go s.answer(stream)
	}
}

func (s *hqService) answer(stream *quic.Stream) {
	text, err := bufio.NewReader(io.LimitReader(stream, longestRequest)).ReadString('\n')
	if err != nil && err != io.EOF {
		return
	}
	path, found := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "GET ")
	target, err := url.ParseRequestURI(path)
	if !found || err != nil {
		stream.CancelWrite(0)
		return
	}
	answer := hqAnswer{header: http.Header{}, stream: stream}
	s.files.ServeHTTP(&answer, &http.Request{Method: http.MethodGet, URL: target, Header: http.Header{}})
	if answer.failed { // HTTP/0.9 has no status
		stream.CancelWrite(0)
		return
	}
	_ = stream.Close()
}

// hqAnswer lets the file handler write a body and nothing else.
type hqAnswer struct {
	header http.Header
	stream *quic.Stream
	failed bool
}

func (a *hqAnswer) Header() http.Header { return a.header }

func (a *hqAnswer) WriteHeader(status int) { a.failed = status != http.StatusOK }

func (a *hqAnswer) Write(body []byte) (int, error) {
	if a.failed {
		return len(body), nil
	}
	return a.stream.Write(body)
}

// checkHQ refuses what a request of HTTP/0.9 cannot ask for.
func checkHQ(j *job) error {
	if j.Video != nil {
		return unsupportedError{errors.New("video with " + protocolHQ + ": it has no byte ranges")}
	}
	return nil
}

// hqConnection is a client's connection.
type hqConnection struct{ *quicConnection }

func dialHQ(ctx context.Context, d dialing) (connection, error) {
	under, err := dialQUIC(ctx, d)
	if err != nil {
		return nil, err
	}
	return &hqConnection{under}, nil
}

func (c *hqConnection) roundTrip(request *http.Request) (*http.Response, error) {
	stream, err := c.conn.OpenStreamSync(request.Context())
	if err != nil {
		return nil, err
	}
	if deadline, set := request.Context().Deadline(); set {
		_ = stream.SetDeadline(deadline) // only a closed stream refuses
	}
	if _, err := io.WriteString(stream, "GET "+request.URL.RequestURI()+"\r\n"); err != nil {
		return nil, err
	}
	if err := stream.Close(); err != nil {
		return nil, err
	}
	body := bufio.NewReader(stream)
	if _, err := body.Peek(1); err != nil && err != io.EOF { // the first byte, as the caller measures it
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Proto: protocolHQ, Body: io.NopCloser(body)}, nil
}

func (c *hqConnection) close() { c.quicConnection.close(0) }
