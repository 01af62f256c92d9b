package main

import (
	"encoding/hex"
	"io"

	"github.com/quic-go/quic-go"
)

// trace writes the trace of each connection to QLOGDIR, when that is set: one JSON text each.
func trace(q *quic.Config, isServer bool) {
	q.GetLogWriter = func(id []byte) io.WriteCloser { return createQlog(hex.EncodeToString(id), !isServer, ".qlog") }
}
