package main

import "sync"

// liveConnections are those that a server has to close when it stops: closing a listener leaves them alone.
type liveConnections struct {
	mutex sync.Mutex
	conns map[quicConn]struct{}
}

func newLiveConnections() *liveConnections {
	return &liveConnections{conns: map[quicConn]struct{}{}}
}

func (l *liveConnections) add(conn quicConn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.conns[conn] = struct{}{}
}

func (l *liveConnections) remove(conn quicConn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.conns, conn)
}

func (l *liveConnections) closeAll() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for conn := range l.conns {
		closeConn(conn, 0)
	}
}
