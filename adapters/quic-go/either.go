package main

import (
	"net"
	"net/http"
)

// eitherService is HTTP/3 and HTTP/2 on one port, with the same files.
type eitherService struct {
	quic, tcp service
}

func startEither(options serverOptions, files http.Handler, s *settings) (service, error) {
	withoutTickets = s.altSvcPort != 0 // who learned of HTTP/3 comes back, and every connection is to be cold
	quic, err := startH3(options, files, s)
	if err != nil {
		return nil, err
	}
	_, options.port = splitAddress(quic.address()) // the port that the system chose, where none was given
	tcp, err := startH2(options, advertising(files, s.altSvcPort), s)
	if err != nil {
		quic.close()
		return nil, err
	}
	return &eitherService{quic, tcp}, nil
}

func (s *eitherService) address() net.Addr { return s.quic.address() }

func (s *eitherService) serve() error {
	failed := make(chan error, 2)
	for _, each := range []service{s.quic, s.tcp} {
		go func(each service) { failed <- each.serve() }(each)
	}
	return <-failed
}

func (s *eitherService) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.quic.close()
	}()
	s.tcp.close()
	<-done
}
