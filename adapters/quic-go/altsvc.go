package main

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

const altSvcMaxAgeS = 86400

// altSvcKnobs are a server's that tells clients over TCP of HTTP/3.
var altSvcKnobs = map[string]knob{
	"alt_svc_port": {eitherOnly, func(s *settings, value string) error {
		port, err := strconv.ParseUint(value, 10, 16)
		if err != nil || port == 0 {
			return errors.New("not a port, 1 to 65535")
		}
		s.altSvcPort = int(port)
		return nil
	}},
}

// advertising adds an Alt-Svc header (RFC 7838) to every answer, which names HTTP/3 on a port of the same host; 0: none.
func advertising(files http.Handler, port int) http.Handler {
	if port == 0 {
		return files
	}
	text := fmt.Sprintf(`h3=":%d"; ma=%d`, port, altSvcMaxAgeS)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", text)
		files.ServeHTTP(w, r)
	})
}
