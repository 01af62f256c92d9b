package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// openQlogs counts the traces being written: quic-go's own directory tracer does not report when a file is complete.
var openQlogs sync.WaitGroup

// createQlog opens the file for one connection's trace in QLOGDIR, as <original destination id>_<role><suffix>; nil where
// none is wanted or possible. It is closed by quic-go when a trace has its last event.
func createQlog(id string, isClient bool, suffix string) io.WriteCloser {
	folder := os.Getenv("QLOGDIR")
	if folder == "" {
		return nil
	}
	role := "server"
	if isClient {
		role = "client"
	}
	file, err := createIn(folder, id+"_"+role+suffix)
	if err != nil {
		fmt.Fprintln(os.Stderr, "no qlog:", err)
		return nil
	}
	openQlogs.Add(1)
	return &bufferedFile{bufio.NewWriter(file), file}
}

func createIn(folder, name string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(folder, name))
}

// bufferedFile counts as finished when it is closed.
type bufferedFile struct {
	*bufio.Writer
	file *os.File
}

func (f *bufferedFile) Close() error {
	defer openQlogs.Done()
	err := f.Flush()
	if closing := f.file.Close(); err == nil {
		err = closing
	}
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
