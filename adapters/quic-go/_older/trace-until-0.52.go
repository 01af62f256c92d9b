package main

import (
	"context"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/logging"
	"github.com/quic-go/quic-go/qlog"
)

// trace writes the trace of each connection to QLOGDIR, when that is set.
func trace(q *quic.Config, _ bool) {
	q.Tracer = func(_ context.Context, p logging.Perspective, id quic.ConnectionID) *logging.ConnectionTracer {
		file := createQlog(id.String(), p == logging.PerspectiveClient, ".qlog")
		if file == nil {
			return nil
		}
		return qlog.NewConnectionTracer(file, p, id)
	}
}
