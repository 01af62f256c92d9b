package main

import (
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// quicConn is a connection that may carry early data.
type quicConn = quic.EarlyConnection

// quicListener is what accepts such connections.
type quicListener = http3.QUICEarlyListener

func closeConn(conn quicConn, code uint64) {
	_ = conn.CloseWithError(quic.ApplicationErrorCode(code), "")
}

func handshakeDone(conn quicConn) <-chan struct{} { return conn.HandshakeComplete() }

// fillState fills a line with the state of the connection when its handshake is complete.
func fillState(line *connectionLine, conn quicConn) {
	state := conn.ConnectionState()
	line.Resumed, line.Used0RTT = state.TLS.DidResume, state.TLS.Used0RTT
}
