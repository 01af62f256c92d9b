package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"sync"
)

// keyLog is the file named by SSLKEYLOGFILE, or nil. All TLS configurations of the process share it.
var keyLog = sync.OnceValues(func() (io.Writer, error) {
	path := os.Getenv("SSLKEYLOGFILE")
	if path == "" {
		return nil, nil
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
})

// serverTLS offers TLS 1.3 only, with one application protocol.
func serverTLS(certificate, key, protocol string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	log, err := keyLog()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{protocol},
		KeyLogWriter: log,
	}, nil
}

// clientTLS verifies the server as `host` against the authorities in the file `ca`, and never asks the system's.
func clientTLS(host, ca, protocol string) (*tls.Config, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", ca)
	}
	log, err := keyLog()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		ServerName:   host,
		RootCAs:      authorities,
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{protocol},
		KeyLogWriter: log,
	}, nil
}

// A ticketCache keeps the newest session ticket and says when the first one is there.
type ticketCache struct {
	tls.ClientSessionCache
	once sync.Once
	here chan struct{}
}

func newTicketCache() *ticketCache {
	return &ticketCache{ClientSessionCache: tls.NewLRUClientSessionCache(1), here: make(chan struct{})}
}

// Put implements tls.ClientSessionCache.
func (c *ticketCache) Put(key string, session *tls.ClientSessionState) {
	c.ClientSessionCache.Put(key, session)
	if session != nil {
		c.once.Do(func() { close(c.here) })
	}
}
