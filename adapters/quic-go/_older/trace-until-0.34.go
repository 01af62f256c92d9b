package main

import (
	"encoding/hex"
	"io"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/logging"
	"github.com/quic-go/quic-go/qlog"
)

// trace writes the trace of each connection to QLOGDIR, when that is set.
func trace(q *quic.Config, _ bool) {
	q.Tracer = qlog.NewTracer(func(p logging.Perspective, id []byte) io.WriteCloser {
		return createQlog(hex.EncodeToString(id), p == logging.PerspectiveClient, ".qlog")
	})
}
