package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

var buffers = sync.Pool{New: func() interface{} { return new([64 << 10]byte) }}

// fetch requests one path and reads the answer to its end. It always returns a line, also for a failure.
func fetch(ctx context.Context, conn connection, site, path string, start int64) objectLine {
	if first, mayFallBack := conn.(*quicFirst); mayFallBack {
		return first.fetchOrFallBack(site, path, start)
	}
	if moving, mayMove := conn.(*mover); mayMove {
		return moving.fetchMoving(site, path, start)
	}
	return fetchOver(ctx, conn, nil, site, path, start)
}

// fetchOver is fetch on this connection alone.
func fetchOver(ctx context.Context, conn connection, watch *stallWatch, site, path string, start int64) objectLine {
	local := conn.local()
	line := objectLine{Event: "object", URL: site + path, Path: path, Local: &local, TStartNs: start}
	if err := fetchInto(ctx, &line, conn, watch); err != nil {
		text := reason(ctx, err).Error()
		line.Error = &text
	}
	return line
}

func fetchInto(ctx context.Context, line *objectLine, conn connection, watch *stallWatch) error {
	if sent, is := uploadOf(ctx, line.Path); is {
		return sent.send(ctx, line, conn)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, line.URL, nil)
	if err != nil {
		return err
	}
	if line.Priority = priorityOf(ctx, line.Path); line.Priority != "" {
		request.Header.Set("Priority", line.Priority)
	}
	response, err := conn.roundTrip(request)
	if err != nil {
		return err
	}
	firstByte := now()
	watch.arrived()
	defer response.Body.Close()
	spoken := protocolOf(response)
	line.Protocol, line.Status, line.TFirstByteNs = &spoken, &response.StatusCode, &firstByte
	line.AltSvc = response.Header.Get("Alt-Svc")
	var text string
	line.Bytes, text, err = digestOf(response.Body, watch)
	if err != nil {
		return err
	}
	end := now()
	line.TEndNs, line.Digest = &end, &text
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	return nil
}

// digestOf reads a body to its end, and returns its size and digest.
func digestOf(body io.Reader, watch *stallWatch) (int64, string, error) {
	digest := sha256.New()
	total, err := copyBody(digest, body, watch)
	return total, "sha256:" + hex.EncodeToString(digest.Sum(nil)), err
}

type prioritiesKey struct{}

// withPriorities lets fetch send the header field `priority` with requests for these paths.
func withPriorities(ctx context.Context, priorities map[string]string) context.Context {
	if len(priorities) == 0 {
		return ctx
	}
	return context.WithValue(ctx, prioritiesKey{}, priorities)
}

func priorityOf(ctx context.Context, path string) string {
	priorities, _ := ctx.Value(prioritiesKey{}).(map[string]string)
	return priorities[path]
}

func copyBody(to io.Writer, body io.Reader, watch *stallWatch) (total int64, err error) {
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	for {
		n, err := body.Read(buffer[:])
		total += int64(n)
		watch.arrived()
		if _, err := to.Write(buffer[:n]); err != nil {
			return total, err
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// protocolOf names the protocol that was really spoken.
func protocolOf(response *http.Response) string {
	switch response.ProtoMajor {
	case 3:
		return protocolH3
	case 2:
		return protocolH2
	}
	return response.Proto
}
