package main

import (
	"context"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// trace writes the trace of each connection to QLOGDIR, when that is set.
func trace(q *quic.Config, _ bool) {
	q.Tracer = func(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
		file := createQlog(id.String(), isClient, ".sqlog")
		if file == nil {
			return nil
		}
		schemas := []string{qlog.EventSchema} // without HTTP/3's events: they would keep the trace open for ever
		trace := qlogwriter.NewConnectionFileSeq(file, isClient, id, schemas)
		go trace.Run()
		return trace
	}
}
