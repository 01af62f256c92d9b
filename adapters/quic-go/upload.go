package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/ioutil"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	expectContinue = "100-continue"
	// continueWait is how long a client waits for 100 (Continue) until it sends the body all the same, as curl does.
	continueWait = time.Second
	// mostAnswerBytes bounds the answer to an upload, which has two short values.
	mostAnswerBytes = 4096
)

var (
	errAnswered = errors.New("the answer came before the body was sent")
	errReset    = errors.New("reset in the middle")
)

// An upload is how a path of a job is sent instead of fetched.
type upload struct {
	Method string `json:"method"`
	File   string `json:"file"`
	Expect string `json:"expect"`
}

// received is the answer to an upload: what of the body reached the server.
type received struct {
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

type uploadsKey struct{}

// withUploads lets fetch send bodies for these paths.
func withUploads(ctx context.Context, uploads map[string]upload) context.Context {
	if len(uploads) == 0 {
		return ctx
	}
	return context.WithValue(ctx, uploadsKey{}, uploads)
}

func uploadOf(ctx context.Context, path string) (upload, bool) {
	uploads, any := ctx.Value(uploadsKey{}).(map[string]upload)
	if !any {
		return upload{}, false
	}
	found, known := uploads[path]
	return found, known
}

func (u upload) check(path string) error {
	if u.Method != http.MethodPost && u.Method != http.MethodPut {
		return usageError{fmt.Errorf("job: uploads: %s: method %q is neither POST nor PUT", path, u.Method)}
	}
	if u.Expect != "" && u.Expect != expectContinue {
		return usageError{fmt.Errorf("job: uploads: %s: expect %q is not %s", path, u.Expect, expectContinue)}
	}
	return nil
}

// checkUploads checks that every upload is of a path of the job, and of a connection that can carry it.
func (j *job) checkUploads() error {
	asked := map[string]bool{}
	for _, phase := range j.Phases {
		for _, path := range phase {
			asked[path] = true
		}
	}
	for path, each := range j.Uploads {
		if !asked[path] {
			return usageError{fmt.Errorf("job: uploads: %s is in no phase", path)}
		}
		if err := each.check(path); err != nil {
			return err
		}
		if j.Connection == connection0RTT {
			return unsupportedError{errors.New("an upload as early data, which may be replayed (RFC 8470)")}
		}
		if j.Protocol == protocolEither {
			return unsupportedError{fmt.Errorf("uploads with %s", protocolEither)}
		}
	}
	return nil
}

// send requests a path with a body, and reads into the line what the server received of it.
func (u upload) send(ctx context.Context, line *objectLine, conn connection) error {
	line.Method = u.Method
	body, size, err := openBody(u.File)
	if err != nil {
		return err
	}
	defer body.release(errAnswered)
	if u.Expect != "" {
		body.wait()
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { body.release(nil) }})
	}
	request, err := http.NewRequestWithContext(ctx, u.Method, line.URL, body)
	if err != nil {
		return err
	}
	request.ContentLength = size
	request.Header.Set("Content-Type", "application/octet-stream")
	if u.Expect != "" {
		request.Header.Set("Expect", u.Expect)
	}
	response, err := conn.roundTrip(request)
	if err != nil {
		return err
	}
	firstByte := now()
	defer response.Body.Close()
	spoken := protocolOf(response)
	line.Protocol, line.Status, line.TFirstByteNs = &spoken, &response.StatusCode, &firstByte
	text, err := ioutil.ReadAll(io.LimitReader(response.Body, mostAnswerBytes))
	line.Bytes = int64(len(text))
	if err != nil {
		return err
	}
	end := now()
	line.TEndNs = &end
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	var answer received
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("the answer to the upload is not of the contract: %w", err)
	}
	line.UploadedBytes, line.UploadedDigest = &answer.Bytes, &answer.Digest
	return nil
}

// A gatedBody is a file that is read once it may be, and no further once an answer is there.
type gatedBody struct {
	file *os.File
	open chan struct{}
	once sync.Once
	err  error // why nothing more is read; set before open is closed
	gate *time.Timer
}

func openBody(name string) (*gatedBody, int64, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return &gatedBody{file: file}, info.Size(), nil
}

// wait lets nothing be read until release, or for continueWait.
func (b *gatedBody) wait() {
	b.open = make(chan struct{})
	b.gate = time.AfterFunc(continueWait, func() { b.release(nil) })
}

// release opens the gate; an error is what is then read.
func (b *gatedBody) release(err error) {
	if b.open == nil {
		return
	}
	b.once.Do(func() {
		b.gate.Stop()
		b.err = err
		close(b.open)
	})
}

// Read implements io.Reader.
func (b *gatedBody) Read(into []byte) (int, error) {
	if b.open != nil {
		<-b.open
		if b.err != nil {
			return 0, b.err
		}
	}
	return b.file.Read(into)
}

// Close implements io.Closer.
func (b *gatedBody) Close() error {
	b.release(errAnswered)
	return b.file.Close()
}

// What a server does with an upload (knob upload_answer).
const (
	answerWhole   = "whole"
	answerRefused = "refused"
	answerEarly   = "early"
	answerReset   = "reset"
)

// answerKnobs has the server's one knob of uploads.
var answerKnobs = map[string]knob{
	"upload_answer": {[]string{protocolH3, protocolH2, protocolEither}, func(s *settings, value string) error {
		switch value {
		case answerWhole, answerRefused, answerEarly, answerReset:
			s.uploadAnswer = value
			return nil
		}
		return errors.New("neither whole, refused, early nor reset")
	}},
}

// takeUpload reads the body of a request to its end, and answers with its size and digest.
func takeUpload(w http.ResponseWriter, r *http.Request, how string) {
	line := uploadLine{Event: "upload", Path: r.URL.Path, Method: r.Method, Remote: r.RemoteAddr, TStartNs: now()}
	err := line.take(w, r, how)
	if err != nil {
		text := err.Error()
		line.Error = &text
	}
	emit(line)
	if errors.Is(err, errReset) {
		panic(http.ErrAbortHandler) // resets the stream
	}
}

func (l *uploadLine) take(w http.ResponseWriter, r *http.Request, how string) error {
	if how == answerRefused {
		http.Error(w, "refused", http.StatusRequestEntityTooLarge)
		return errors.New("refused with 413")
	}
	if r.ProtoMajor == 3 && strings.EqualFold(r.Header.Get("Expect"), expectContinue) {
		w.WriteHeader(http.StatusContinue) // net/http does it by itself
	}
	var body io.Reader = r.Body
	if how == answerEarly || how == answerReset {
		body = io.LimitReader(body, r.ContentLength/2)
	}
	total, digest, err := digestOf(body, nil)
	l.Bytes, l.Digest = total, digest
	if err != nil {
		return err
	}
	if how == answerReset {
		return errReset
	}
	end := now()
	if how == answerEarly {
		err = errors.New("answered early")
	} else {
		l.TEndNs = &end
	}
	text, failed := json.Marshal(received{total, digest})
	if failed != nil {
		return failed
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if _, failed := w.Write(text); failed != nil {
		return failed
	}
	return err
}
