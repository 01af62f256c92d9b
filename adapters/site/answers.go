package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// reported are the header fields that say whether answers can be compared, and where else the host answers.
var reported = []string{
	"Age", "Alt-Svc", "Cache-Control", "Content-Encoding", "Content-Type", "Location", "Retry-After", "Server", "Via",
}

// answers requests the path over HTTP/2 and then over HTTP/3, once each. No redirect is followed, no proxy is used.
func (s site) answers(ctx context.Context) []answerLine {
	return []answerLine{s.ask(ctx, "h2", s.http2()), s.ask(ctx, "h3", s.http3())}
}

func (s site) ask(ctx context.Context, protocol string, over http.RoundTripper) answerLine {
	line := answerLine{Event: "answer", Protocol: protocol, Headers: map[string]string{}}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	began := time.Now()
	line.Error = text(s.into(ctx, &line, over))
	line.TookNs = time.Since(began).Nanoseconds()
	if closer, is := over.(io.Closer); is {
		_ = closer.Close()
	}
	return line
}

func (s site) into(ctx context.Context, line *answerLine, over http.RoundTripper) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.host+s.path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", s.userAgent)
	response, err := over.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	line.Status = response.StatusCode
	for _, name := range reported {
		if value := response.Header.Get(name); value != "" {
			line.Headers[strings.ToLower(name)] = value
		}
	}
	if spoken := map[int]string{2: "h2", 3: "h3"}[response.ProtoMajor]; spoken != line.Protocol {
		return fmt.Errorf("the host answered over %s", response.Proto)
	}
	digest := sha256.New()
	line.Bytes, err = io.Copy(digest, io.LimitReader(response.Body, s.mostBytes+1))
	if err != nil {
		return err
	}
	if line.Bytes > s.mostBytes {
		return errors.New("the body is larger than the budget allows")
	}
	line.Digest = "sha256:" + hex.EncodeToString(digest.Sum(nil))
	return nil
}

func (s site) http2() http.RoundTripper {
	return &http.Transport{
		TLSClientConfig:    s.security("h2", "http/1.1"),
		ForceAttemptHTTP2:  true,
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "tcp", s.address.String())
		},
	}
}

func (s site) http3() http.RoundTripper {
	return &http3.Transport{
		TLSClientConfig:    s.security("h3"),
		DisableCompression: true,
		QUICConfig:         &quic.Config{HandshakeIdleTimeout: handshakeTime},
		Dial: func(ctx context.Context, _ string, security *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, s.address.String(), security, config)
		},
	}
}
