package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

// openQlogs counts the traces being written: quic-go's own directory tracer cannot tell when a file is complete.
var openQlogs sync.WaitGroup

// qlogTracer writes the trace of each connection to QLOGDIR, when that is set, as <original destination id>_<role>.sqlog.
func qlogTracer(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	folder := os.Getenv("QLOGDIR")
	if folder == "" {
		return nil
	}
	role := "server"
	if isClient {
		role = "client"
	}
	file, err := createIn(folder, fmt.Sprintf("%s_%s.sqlog", id, role))
	if err != nil {
		fmt.Fprintln(os.Stderr, "no qlog:", err)
		return nil
	}
	trace := qlogwriter.NewConnectionFileSeq(&bufferedFile{bufio.NewWriter(file), file}, isClient, id)
	openQlogs.Add(1)
	go trace.Run()
	return trace
}

func createIn(folder, name string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(folder, name))
}

// bufferedFile is closed by quic-go when a trace has its last event, which is when it counts as finished.
type bufferedFile struct {
	*bufio.Writer
	file *os.File
}

func (f *bufferedFile) Close() error {
	defer openQlogs.Done()
	err := errors.Join(f.Flush(), f.file.Close())
	if err != nil {
		fmt.Fprintln(os.Stderr, "qlog cut short:", err)
	}
	return err
}

// finishQlogs waits until every trace is on disk, but not for ever: a connection that never ended keeps its trace open.
func finishQlogs(limit time.Duration) {
	done := make(chan struct{})
	go func() {
		openQlogs.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
		fmt.Fprintln(os.Stderr, "qlog: a trace was still open at exit and may be cut short")
	}
}
