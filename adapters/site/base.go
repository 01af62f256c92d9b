package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net"
	"time"

	"github.com/quic-go/quic-go"
)

// connects is how often TCP connects: the shortest time is the path's, the others have this machine's delays, too.
const connects = 3

// base measures handshakes over TCP and over QUIC, one after the other.
func (s site) base(ctx context.Context) []baseLine {
	return []baseLine{s.overTCP(ctx), s.overQUIC(ctx)}
}

func (s site) overTCP(ctx context.Context) baseLine {
	line := baseLine{Event: "base", Transport: "tcp", Address: s.address.Addr().String(), TStartNs: now()}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	for i := 0; i < connects; i++ {
		began := time.Now()
		var dialer net.Dialer
		socket, err := dialer.DialContext(ctx, "tcp", s.address.String())
		if err != nil {
			line.Error = text(err)
			return line
		}
		line.ConnectNs = append(line.ConnectNs, time.Since(began).Nanoseconds())
		if i+1 < connects {
			_ = socket.Close()
			continue
		}
		conn := tls.Client(socket, s.security("h2", "http/1.1"))
		err = conn.HandshakeContext(ctx)
		line.HandshakeNs = time.Since(began).Nanoseconds()
		if err != nil {
			line.Error = text(err)
		} else {
			line.describe(conn.ConnectionState())
		}
		_ = conn.Close()
	}
	return line
}

func (s site) overQUIC(ctx context.Context) baseLine {
	line := baseLine{Event: "base", Transport: "quic", Address: s.address.Addr().String(), TStartNs: now()}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	began := time.Now()
	conn, err := quic.DialAddr(ctx, s.address.String(), s.security("h3"), &quic.Config{})
	if err != nil {
		line.Error = text(err)
		return line
	}
	line.HandshakeNs = time.Since(began).Nanoseconds()
	line.describe(conn.ConnectionState().TLS)
	_ = conn.CloseWithError(0x100, "") // H3_NO_ERROR
	return line
}

// security verifies the server as `host` against the given authorities, and never asks the system's.
func (s site) security(protocols ...string) *tls.Config {
	return &tls.Config{
		ServerName: s.host, RootCAs: s.authorities, MinVersion: tls.VersionTLS13, NextProtos: protocols,
	}
}

func (l *baseLine) describe(state tls.ConnectionState) {
	l.ALPN = state.NegotiatedProtocol
	for i, certificate := range state.PeerCertificates {
		l.ChainBytes += len(certificate.Raw)
		if i == 0 {
			digest := sha256.Sum256(certificate.Raw)
			l.Certificate = "sha256:" + hex.EncodeToString(digest[:])
			l.NotAfter = certificate.NotAfter.UTC().Format(time.RFC3339)
		}
	}
}
