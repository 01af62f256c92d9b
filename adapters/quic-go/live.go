package main

import (
	"sync"

	"github.com/quic-go/quic-go"
)

// liveConnections are those that a server has to close when it stops: closing a listener leaves them alone.
type liveConnections struct {
	mutex sync.Mutex
	conns map[*quic.Conn]struct{}
}

func newLiveConnections() *liveConnections {
	return &liveConnections{conns: map[*quic.Conn]struct{}{}}
}

func (l *liveConnections) add(conn *quic.Conn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.conns[conn] = struct{}{}
}

func (l *liveConnections) remove(conn *quic.Conn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.conns, conn)
}

func (l *liveConnections) closeAll() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for conn := range l.conns {
		_ = conn.CloseWithError(0, "")
	}
}
