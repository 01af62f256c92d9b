package main

import (
	"context"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

// trace writes the trace of each connection to QLOGDIR, when that is set.
func trace(q *quic.Config, _ bool) {
	q.Tracer = func(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
		file := createQlog(id.String(), isClient, ".sqlog")
		if file == nil {
			return nil
		}
		trace := qlogwriter.NewConnectionFileSeq(file, isClient, id)
		go trace.Run()
		return trace
	}
}
