package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"slices"
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

// copied is a cache of its own with the same ticket: QUIC connections write to the state that they resume from.
func (c *ticketCache) copied(key string) (*ticketCache, error) {
	result := newTicketCache()
	session, found := c.Get(key)
	if !found || session == nil {
		return result, nil
	}
	ticket, state, err := session.ResumptionState()
	if err != nil {
		return nil, err
	}
	text, err := state.Bytes()
	if err != nil {
		return nil, err
	}
	if state, err = tls.ParseSessionState(text); err != nil {
		return nil, err
	}
	if session, err = tls.NewResumptionState(ticket, state); err != nil {
		return nil, err
	}
	result.Put(key, session)
	return result, nil
}

// ofOneConnection is the configuration for one of several connections at once, which all write to theirs.
func ofOneConnection(security *tls.Config) (*tls.Config, error) {
	own := security.Clone()
	own.NextProtos = slices.Clone(security.NextProtos) // net/http appends to it
	if tickets, primed := security.ClientSessionCache.(*ticketCache); primed {
		copied, err := tickets.copied(security.ServerName) // crypto/tls files tickets under the server's name
		if err != nil {
			return nil, fmt.Errorf("session ticket: %w", err)
		}
		own.ClientSessionCache = copied
	}
	return own, nil
}

// Put implements tls.ClientSessionCache.
func (c *ticketCache) Put(key string, session *tls.ClientSessionState) {
	c.ClientSessionCache.Put(key, session)
	if session != nil {
		c.once.Do(func() { close(c.here) })
	}
}
