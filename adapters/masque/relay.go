package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// A relay takes packets of a client's sockets, and carries those of each through a request of its own to the proxy.
type relay struct {
	options
	client *net.UDPConn
	dial   func() (*http3.ClientConn, error) // once
	proxy  atomic.Pointer[http3.ClientConn]  // once there is one
	failed context.CancelCauseFunc
}

// runRelay carries a client's packets until the context ends.
func runRelay(ctx context.Context, o options) error {
	security, err := o.clientTLS()
	if err != nil {
		return err
	}
	client, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(o.listen))
	if err != nil {
		return err
	}
	ctx, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	r := &relay{options: o, client: client, failed: failed}
	r.dial = sync.OnceValues(func() (*http3.ClientConn, error) {
		conn, err := connect(ctx, o, security)
		r.proxy.Store(conn)
		return conn, err
	})
	if o.warm {
		if _, err := r.dial(); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	emitReady(o)
	r.read(ctx)
	if conn := r.proxy.Load(); conn != nil {
		_ = conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	}
	return context.Cause(ctx)
}

// connect opens the connection to the proxy, and waits until that says that it takes datagrams and requests for them.
func connect(ctx context.Context, o options, security *tls.Config) (*http3.ClientConn, error) {
	conn, err := quic.DialAddr(ctx, o.upstream.String(), security, quicConfig())
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", o.upstream, err)
	}
	client := (&http3.Transport{EnableDatagrams: true}).NewClientConn(conn)
	select {
	case <-client.ReceivedSettings():
	case <-conn.Context().Done():
		return nil, context.Cause(conn.Context())
	}
	if settings := client.Settings(); !settings.EnableDatagrams || !settings.EnableExtendedConnect {
		return nil, unsupported(fmt.Sprintf("proxy %s takes no CONNECT-UDP", o.upstream))
	}
	return client, nil
}

func (r *relay) read(ctx context.Context) {
	queues := map[netip.AddrPort]queue{}
	buffer := make([]byte, largestPacket)
	for {
		n, from, err := r.client.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client's socket is closed: what was sent to it has been refused
		}
		waiting, known := queues[from]
		if !known {
			waiting = make(queue, r.queue)
			queues[from] = waiting
			go func() {
				if err := r.tunnel(ctx, from, waiting); err != nil && ctx.Err() == nil {
					r.failed(fmt.Errorf("tunnel of %s: %w", from, err))
				}
			}()
		}
		waiting.add(packetOf(buffer[:n]))
	}
}

// tunnel asks for the target, and carries packets once the proxy has agreed.
func (r *relay) tunnel(ctx context.Context, from netip.AddrPort, waiting queue) error {
	conn, err := r.dial()
	if err != nil {
		return err
	}
	stream, err := conn.OpenRequestStream(ctx)
	if err != nil {
		return err
	}
	target := &url.URL{Scheme: "https", Host: r.host, Path: pathOf(r.target)}
	header := http.Header{http3.CapsuleProtocolHeader: {"?1"}}
	ask := &http.Request{Method: http.MethodConnect, Proto: protocolName, Host: r.host, URL: target, Header: header}
	if err := stream.SendRequestHeader(ask); err != nil {
		return err
	}
	answer, err := stream.ReadResponse()
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the proxy answers %s", answer.Status)
	}
	emit(tunnelLine{Event: "tunnel", Role: r.role, From: from.String(), Target: r.target.String(), TReady: now()})
	go func() {
		write := func(packet []byte) error { _, err := r.client.WriteToUDPAddrPort(packet, from); return err }
		_ = deliver(ctx, stream, write) // an error ends carry, too
	}()
	return carry(ctx, waiting, stream)
}
