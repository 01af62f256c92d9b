package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/ioutil"
	"os"
	"sync"
)

var keys struct {
	once   sync.Once
	writer io.Writer
	err    error
}

// keyLog is the file named by SSLKEYLOGFILE, or nil. All TLS configurations of the process share it.
func keyLog() (io.Writer, error) {
	keys.once.Do(func() {
		if path := os.Getenv("SSLKEYLOGFILE"); path != "" {
			keys.writer, keys.err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		}
	})
	return keys.writer, keys.err
}

// withoutTickets is whether this process's servers give no session tickets; set before a server is started.
var withoutTickets bool

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

		SessionTicketsDisabled: withoutTickets,
	}, nil
}

// clientTLS verifies the server as `host` against the authorities in the file `ca`, and never asks the system's.
func clientTLS(host, ca, protocol string) (*tls.Config, error) {
	pem, err := ioutil.ReadFile(ca)
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

// A ticketCache keeps the newest session ticket of one server, whatever a TLS library calls it, and signals when the
// first one is there.
type ticketCache struct {
	mutex   sync.Mutex
	session *tls.ClientSessionState
	once    sync.Once
	here    chan struct{}
}

func newTicketCache() *ticketCache { return &ticketCache{here: make(chan struct{})} }

// Get implements tls.ClientSessionCache.
func (c *ticketCache) Get(string) (*tls.ClientSessionState, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.session, c.session != nil
}

// Put implements tls.ClientSessionCache.
func (c *ticketCache) Put(_ string, session *tls.ClientSessionState) {
	c.mutex.Lock()
	c.session = session
	c.mutex.Unlock()
	if session != nil {
		c.once.Do(func() { close(c.here) })
	}
}

// copied is a cache of its own with the same ticket, good for early data or not.
func (c *ticketCache) copied(early bool) (*ticketCache, error) {
	result := newTicketCache()
	session, found := c.Get("")
	if !found {
		return result, nil
	}
	session, err := copiedSession(session, early)
	if err != nil {
		return nil, err
	}
	result.Put("", session)
	return result, nil
}

// ofOneConnection is the configuration for one of several connections at once, which all write to theirs.
func ofOneConnection(security *tls.Config, early bool) (*tls.Config, error) {
	own := security.Clone()
	own.NextProtos = append([]string(nil), security.NextProtos...) // net/http appends to it
	if tickets, primed := security.ClientSessionCache.(*ticketCache); primed {
		copied, err := tickets.copied(early)
		if err != nil {
			return nil, fmt.Errorf("session ticket: %w", err)
		}
		own.ClientSessionCache = copied
	}
	return own, nil
}
