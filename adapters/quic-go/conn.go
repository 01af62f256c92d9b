package main

import "github.com/quic-go/quic-go"

// quicConn is a connection that may carry early data.
type quicConn = *quic.Conn

func closeConn(conn quicConn, code uint64) {
	_ = conn.CloseWithError(quic.ApplicationErrorCode(code), "")
}

func handshakeDone(conn quicConn) <-chan struct{} { return conn.HandshakeComplete() }

// fillState fills a line with the state of the connection when its handshake is complete.
func fillState(line *connectionLine, conn quicConn) {
	state := conn.ConnectionState()
	line.Resumed, line.Used0RTT, line.GSO = state.TLS.DidResume, state.Used0RTT, &state.GSO
}
