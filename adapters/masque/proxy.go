package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// runProxy takes CONNECT-UDP requests for the upstream, and for nothing else, until the context ends.
func runProxy(ctx context.Context, o options) error {
	security, err := o.serverTLS()
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(o.listen))
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	listener, err := transport.Listen(security, quicConfig())
	if err != nil {
		return err
	}
	handler := func(w http.ResponseWriter, r *http.Request) { serveTunnel(ctx, o, w, r) }
	server := &http3.Server{Handler: http.HandlerFunc(handler), EnableDatagrams: true}
	emitReady(o)
	for {
		conn, err := listener.Accept(ctx)
		if err != nil {
			return errors.Join(server.Close(), transport.Close(), err)
		}
		go func() { _ = server.ServeQUICConn(conn) }() // an error: the relay is gone
	}
}

func serveTunnel(ctx context.Context, o options, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Proto != protocolName {
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	target, err := targetOf(r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if target != o.upstream {
		http.Error(w, fmt.Sprintf("the target is %s, not %s", o.upstream, target), http.StatusForbidden)
		return
	}
	socket, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(target))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer socket.Close()
	w.Header().Set(http3.CapsuleProtocolHeader, "?1")
	w.WriteHeader(http.StatusOK)
	stream, err := w.(http3.HTTPStreamer).HTTPStream()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tunnel:", err)
		return
	}
	defer stream.Close()
	emit(tunnelLine{Event: "tunnel", Role: o.role, From: r.RemoteAddr, Target: target.String(), TReady: now()})
	ctx, over := context.WithCancel(ctx)
	defer over()
	back := make(queue, o.queue)
	go func() {
		defer over()
		_, _ = io.Copy(io.Discard, stream) // no capsule is needed; the relay ends the tunnel by ending the stream
	}()
	go func() {
		defer over()
		_ = deliver(ctx, stream, func(packet []byte) error { _, err := socket.Write(packet); return err })
	}()
	go func() {
		defer over()
		_ = carry(ctx, back, stream)
	}()
	defer context.AfterFunc(ctx, func() { _ = socket.Close() })()
	buffer := make([]byte, largestPacket)
	for {
		n, err := socket.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil { // else the target refuses packets, or is yet to come
			back.add(packetOf(buffer[:n]))
		}
	}
}
