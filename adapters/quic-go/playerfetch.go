package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
)

// A byteRange is a part of a file, its last byte included.
type byteRange struct{ first, last int64 }

// openAll opens connections at the same moment, each with a socket of its own.
func openAll(ctx context.Context, d dialing, count int) ([]connection, error) {
	conns, errs := make([]connection, count), make([]error, count)
	var all sync.WaitGroup
	for i := range conns {
		own, err := ofOneConnection(d.security, d.early)
		if err != nil {
			return nil, err
		}
		each := d
		each.security = own
		all.Add(1)
		go func(i int) {
			defer all.Done()
			conns[i], errs[i] = each.open(ctx)
		}(i)
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			continue
		}
		for _, conn := range conns {
			if conn != nil {
				conn.close()
			}
		}
		return nil, err
	}
	return conns, nil
}

// fetchSegment fetches one segment in as many parts as there are connections. The line has its times; its error is
// returned. Each request has a path of its own, because segments repeat: the query names the segment and the part.
func (p *playing) fetchSegment(ctx context.Context, index, rung int) (segmentLine, error) {
	wanted := p.manifest.segment(index, rung)
	line := segmentLine{
		Event: "segment", Index: index, Rung: p.manifest.Rungs[rung].Name, Path: wanted.Path, TStartNs: now(),
	}
	count := len(p.conns)
	if int64(count) > wanted.Bytes {
		count = 1
	}
	bodies, objects := make([][]byte, count), make([]objectLine, count)
	allOf(count, func(i int) bool {
		path, part := fmt.Sprintf("%s?segment=%d", wanted.Path, index), (*byteRange)(nil)
		if count > 1 {
			path = fmt.Sprintf("%s&part=%d", path, i)
			part = &byteRange{wanted.Bytes * int64(i) / int64(count), wanted.Bytes*int64(i+1)/int64(count) - 1}
		}
		bodies[i], objects[i] = fetchBody(ctx, p.conns[i], p.site, path, part, line.TStartNs)
		return objects[i].Error == nil
	})
	end := now()
	digest := sha256.New()
	for i, object := range objects {
		line.Bytes += object.Bytes
		_, _ = digest.Write(bodies[i])
		if ctx.Err() == nil { // what the viewer gave up has no line
			emit(object)
		}
	}
	for _, object := range objects {
		if object.Error != nil {
			return line, fmt.Errorf("%s", *object.Error)
		}
	}
	text := "sha256:" + hex.EncodeToString(digest.Sum(nil))
	line.TEndNs, line.Digest = &end, &text
	if line.Bytes != wanted.Bytes {
		return line, fmt.Errorf("%d bytes arrived, the manifest has %d", line.Bytes, wanted.Bytes)
	}
	return line, nil
}

// fetchBody requests a file, or a part of one, and keeps the answer. It always returns a line, also for a failure.
func fetchBody(ctx context.Context, conn connection, site, path string, part *byteRange, start int64) ([]byte, objectLine) {
	local := conn.local()
	line := objectLine{Event: "object", URL: site + path, Path: path, Local: &local, TStartNs: start}
	body, err := fetchBodyInto(ctx, &line, conn, part)
	if err != nil {
		text := reason(ctx, err).Error()
		line.Error = &text
	}
	return body, line
}

func fetchBodyInto(ctx context.Context, line *objectLine, conn connection, part *byteRange) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, line.URL, nil)
	if err != nil {
		return nil, err
	}
	expected := http.StatusOK
	if part != nil {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", part.first, part.last))
		expected = http.StatusPartialContent
	}
	response, err := conn.roundTrip(request)
	if err != nil {
		return nil, err
	}
	firstByte := now()
	defer response.Body.Close()
	spoken := protocolOf(response)
	line.Protocol, line.Status, line.TFirstByteNs = &spoken, &response.StatusCode, &firstByte
	var body bytes.Buffer
	if response.ContentLength > 0 {
		body.Grow(int(response.ContentLength))
	}
	line.Bytes, err = copyBody(&body, response.Body, nil)
	if err != nil {
		return nil, err
	}
	end, digest := now(), sha256.Sum256(body.Bytes())
	text := "sha256:" + hex.EncodeToString(digest[:])
	line.TEndNs, line.Digest = &end, &text
	if response.StatusCode != expected {
		return nil, fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	return body.Bytes(), nil
}
