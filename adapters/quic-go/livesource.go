package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const longestSourceJob = 4096

// errNotWhole is the code with which the stream of a frame is reset that is too old.
const errNotWhole = 1

// A source produces frames for one client.
type source struct {
	job  sourceJob
	line sourceLine
}

// newSource begins now; its job is one line of JSON.
func newSource(text []byte, carrier string, remote net.Addr) (*source, error) {
	var j sourceJob
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("live: the client's job: %w", err)
	}
	if err := j.check(); err != nil {
		return nil, err
	}
	if carrier != "" {
		j.Carrier = carrier
	}
	return &source{j, sourceLine{Event: "source", Carrier: j.Carrier, Remote: remote.String(), TStartNs: now()}}, nil
}

// report prints what became of the frames.
func (s *source) report(err error) {
	s.line.TEndNs = now()
	if err != nil {
		text := err.Error()
		s.line.Error = &text
	}
	emit(s.line)
}

// produce waits until the next frame is there, and returns its header.
func (s *source) produce(frame int) frameHeader {
	captured := s.job.capture(s.line.TStartNs, frame)
	time.Sleep(time.Duration(captured - now()))
	s.line.Frames++
	return frameHeader{frame, s.job.size(frame), captured}
}

// expires is when a frame is given up; 0: never.
func (s *source) expires(h frameHeader) int64 {
	if s.job.DropAfterNs == 0 {
		return 0
	}
	return h.captured + s.job.DropAfterNs
}

func (s *source) untilEnd() time.Duration { return time.Duration(s.job.end(s.line.TStartNs) - now()) }

// writeFrame writes a frame, and returns how many bytes of its body were taken.
func writeFrame(to io.Writer, h frameHeader) (int64, error) {
	if _, err := to.Write(h.append(nil)); err != nil {
		return 0, err
	}
	return io.CopyN(to, frameContent(h.frame), int64(h.size))
}

// overOneStream writes all frames in order. Nothing can be taken back, so that nothing is given up before the end.
func (s *source) overOneStream(to interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}) error {
	if err := to.SetWriteDeadline(time.Now().Add(s.untilEnd())); err != nil {
		return err
	}
	failed := false
	for frame := range s.job.Frames {
		h := s.produce(frame)
		if failed {
			s.line.Dropped++
			continue
		}
		written, err := writeFrame(to, h)
		s.line.Bytes += written
		switch {
		case err == nil:
			s.line.Sent++
		case errors.Is(err, os.ErrDeadlineExceeded):
			failed = true
			s.line.Reset++
		default:
			return err
		}
	}
	return nil
}

// overStreams writes each frame to a stream of its own, all that are not done at once.
func (s *source) overStreams(conn *quic.Conn) (opened int, err error) {
	var writing sync.WaitGroup
	var mutex sync.Mutex
	for frame := range s.job.Frames {
		h := s.produce(frame)
		stream, err := conn.OpenUniStream()
		if err != nil {
			return opened, err
		}
		opened++
		limit := s.job.end(s.line.TStartNs)
		if expires := s.expires(h); expires != 0 {
			limit = min(limit, expires)
		}
		_ = stream.SetWriteDeadline(time.Now().Add(time.Duration(limit - now()))) // only a closed stream refuses
		writing.Go(func() {
			written, err := writeFrame(stream, h)
			if err == nil {
				err = stream.Close()
			} else {
				stream.CancelWrite(errNotWhole)
			}
			mutex.Lock()
			defer mutex.Unlock()
			s.line.Bytes += written
			if err == nil {
				s.line.Sent++
			} else {
				s.line.Reset++
			}
		})
	}
	writing.Wait()
	return opened, context.Cause(conn.Context())
}

// inDatagrams sends the fragments of one frame after the other. A frame that is too old is given up, in the middle too: the
// transport may have taken no more for a while.
func (s *source) inDatagrams(send func([]byte) error) error {
	for frame := range s.job.Frames {
		h := s.produce(frame)
		limit := s.job.end(s.line.TStartNs)
		if expires := s.expires(h); expires != 0 {
			limit = min(limit, expires)
		}
		sent, count, content := 0, fragmentsOf(h.size), frameContent(frame)
		for sent < count && now() <= limit {
			if err := send(fragment(h, content, sent)); err != nil {
				return err
			}
			s.line.Bytes += int64(fragmentSize(h.size, sent))
			sent++
		}
		switch sent {
		case count:
			s.line.Sent++
		case 0:
			s.line.Dropped++
		default:
			s.line.Reset++
		}
	}
	return nil
}

// quicLive serves sources over QUIC.
type quicLive struct {
	socket   *net.UDPConn
	listener *quic.Listener
	live     *liveConnections
}

func startQUICLive(options serverOptions, _ http.Handler, s *settings) (service, error) {
	security, err := serverTLS(options.certificate, options.key, protocolQUICLive)
	if err != nil {
		return nil, err
	}
	socket, err := listenUDP(options)
	if err != nil {
		return nil, err
	}
	s.quic.EnableDatagrams = true
	listener, err := quic.Listen(socket, security, s.quic)
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	return &quicLive{socket, listener, newLiveConnections()}, nil
}

func (s *quicLive) address() net.Addr { return s.socket.LocalAddr() }

func (s *quicLive) serve() error {
	for {
		conn, err := s.listener.Accept(context.Background())
		if err != nil {
			return err
		}
		s.live.add(conn)
		go reportAccepted(conn, protocolQUICLive)
		go func() {
			defer s.live.remove(conn)
			if err := serveSource(conn); err != nil {
				fmt.Fprintln(os.Stderr, "live:", err)
			}
		}()
	}
}

func (s *quicLive) close() {
	_ = s.listener.Close()
	s.live.closeAll()
	_ = s.socket.Close()
}

// serveSource reads a job from the client's stream, produces its frames, and says on the same stream how many streams
// they took.
func serveSource(conn *quic.Conn) error {
	asked, err := conn.AcceptStream(context.Background())
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(asked, longestSourceJob))
	if err != nil {
		return err
	}
	s, err := newSource(text, "", conn.RemoteAddr())
	if err != nil {
		closeConn(conn, 1)
		return err
	}
	opened := 0
	switch s.job.Carrier {
	case carrierStreams:
		opened, err = s.overStreams(conn)
	case carrierOne:
		opened = 1
		var stream *quic.SendStream
		if stream, err = conn.OpenUniStream(); err == nil {
			err = s.overOneStream(stream)
			if s.line.Sent == s.job.Frames {
				_ = stream.Close()
			} else {
				stream.CancelWrite(errNotWhole)
			}
		}
	case carrierDatagrams:
		err = s.inDatagrams(conn.SendDatagram)
	default:
		closeConn(conn, 1)
		return fmt.Errorf("live: unknown carrier %q", s.job.Carrier)
	}
	s.report(err)
	if err != nil {
		return err
	}
	text, err = json.Marshal(sourceAnswer{opened, s.line.TStartNs})
	if err != nil {
		return err
	}
	if _, err := asked.Write(text); err != nil {
		return err
	}
	return asked.Close()
}

// A sourceAnswer is how a client over QUIC knows what is still to come, also where no frame came.
type sourceAnswer struct {
	Streams  int   `json:"streams"`
	TStartNs int64 `json:"t_start_ns"`
}

// tlsLive serves sources over TLS 1.3 and TCP.
type tlsLive struct{ *handshakingListener }

func startTLSLive(options serverOptions, _ http.Handler, _ *settings) (service, error) {
	security, err := serverTLS(options.certificate, options.key, protocolTLSLive)
	if err != nil {
		return nil, err
	}
	listener, err := listenTCP(options)
	if err != nil {
		return nil, err
	}
	return &tlsLive{newHandshakingListener(listener, security)}, nil
}

func (s *tlsLive) address() net.Addr { return s.Addr() }

func (s *tlsLive) serve() error {
	for {
		conn, err := s.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := serveOverTLS(conn.(*tls.Conn)); err != nil {
				fmt.Fprintln(os.Stderr, "live:", err)
			}
		}()
	}
}

func (s *tlsLive) close() { _ = s.Close() }

func serveOverTLS(conn *tls.Conn) error {
	defer conn.Close()
	text, err := bufio.NewReader(io.LimitReader(conn, longestSourceJob)).ReadBytes('\n')
	if err != nil {
		return err
	}
	s, err := newSource(text, carrierOne, conn.RemoteAddr())
	if err != nil {
		return err
	}
	err = s.overOneStream(conn)
	s.report(err)
	return err
}

// udpLive serves sources over bare UDP: a frame leaves when it is produced, whatever becomes of it.
type udpLive struct {
	socket *net.UDPConn
	served map[netip.AddrPort]bool
}

func startUDPLive(options serverOptions, _ http.Handler, _ *settings) (service, error) {
	socket, err := listenUDP(options)
	if err != nil {
		return nil, err
	}
	return &udpLive{socket: socket, served: map[netip.AddrPort]bool{}}, nil
}

func (s *udpLive) address() net.Addr { return s.socket.LocalAddr() }

func (s *udpLive) serve() error {
	for {
		hello := make([]byte, longestSourceJob)
		n, from, err := s.socket.ReadFromUDPAddrPort(hello)
		if err != nil {
			return err
		}
		if s.served[from] { // it repeats its hello until it has heard
			continue
		}
		s.served[from] = true
		started, err := newSource(bytes.TrimSpace(hello[:n]), carrierDatagrams, net.UDPAddrFromAddrPort(from))
		if err != nil {
			fmt.Fprintln(os.Stderr, "live:", err)
			continue
		}
		emit(connectionLine{
			Event: "connection", Protocol: protocolUDPLive, Local: s.socket.LocalAddr().String(), Remote: from.String(),
			THandshakeNs: started.line.TStartNs,
		})
		go func() {
			started.report(started.inDatagrams(func(datagram []byte) error {
				_, err := s.socket.WriteToUDPAddrPort(datagram, from)
				return err
			}))
		}()
	}
}

func (s *udpLive) close() { _ = s.socket.Close() }
