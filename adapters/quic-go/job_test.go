package main

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

const validJob = `{"protocol": "h3", "connection": "cold", "address": "10.8.0.2", "port": 443, "phases": [["/a"], ["/b", "/c"]],
	"identity": {"host": "www.example.test", "ca": "ca.pem"}, "knobs": {"gso": false, "max_stream_window": 6000000}, "timeout_s": 1.5}`

func TestValidJob(t *testing.T) {
	j, err := parseJob([]byte(validJob))
	if err != nil {
		t.Fatal(err)
	}
	if got := j.remote().String(); got != "10.8.0.2:443" {
		t.Errorf("remote = %s", got)
	}
	if j.Connections != 1 {
		t.Errorf("connections = %d where the job has no such key", j.Connections)
	}
	if got := j.timeout().Milliseconds(); got != 1500 {
		t.Errorf("timeout = %d ms", got)
	}
	knobs, err := j.knobs()
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"gso": "false", "max_stream_window": "6000000"}; !maps.Equal(knobs, want) {
		t.Errorf("knobs = %v, want %v", knobs, want)
	}
}

func TestJobsThatAreRefused(t *testing.T) {
	cases := []struct {
		name, old, new string
		unsupported    bool
	}{
		{"protocol", `"h3"`, `"h1"`, true},
		{"connection state", `"cold"`, `"warm"`, true},
		{"early data over TCP", `"h3", "connection": "cold"`, `"h2", "connection": "0rtt"`, true},
		{"a name for an address", `"10.8.0.2"`, `"localhost"`, false},
		{"no port", `443`, `0`, false},
		{"no connections", `"timeout_s"`, `"connections": 0, "timeout_s"`, false},
		{"too many connections", `"timeout_s"`, `"connections": 65, "timeout_s"`, false},
		{"half a connection", `"timeout_s"`, `"connections": 1.5, "timeout_s"`, false},
		{"too few waits", `"timeout_s"`, `"waits_s": [1], "timeout_s"`, false},
		{"a negative wait", `"timeout_s"`, `"waits_s": [0, -1], "timeout_s"`, false},
		{"an endless wait", `"timeout_s"`, `"waits_s": [0, 1e9], "timeout_s"`, false},
		{"early data on a warm connection", `"cold"`, `"0rtt", "waits_s": [0.1, 0]`, false},
		{"no time", `1.5`, `0`, false},
		{"a relative path", `"/b"`, `"b"`, false},
		{"an empty phase", `["/a"]`, `[]`, false},
		{"not JSON", `{`, ``, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseJob([]byte(strings.Replace(validJob, c.old, c.new, 1)))
			if err == nil {
				t.Fatal("accepted")
			}
			if got := errors.As(err, new(unsupportedError)); got != c.unsupported {
				t.Errorf("unsupported = %v: %v", got, err)
			}
			if got := errors.As(err, new(usageError)); got == c.unsupported {
				t.Errorf("usage = %v: %v", got, err)
			}
		})
	}
}

func TestRequestsOfTheInteropRunner(t *testing.T) {
	urls, err := parseRequests(" https://server4:443/a  https://server4/b ")
	if err != nil {
		t.Fatal(err)
	}
	if len(urls) != 2 || portOf(urls[0]) != "443" || portOf(urls[1]) != "443" || urls[1].Path != "/b" {
		t.Errorf("urls = %v", urls)
	}
	for _, text := range []string{"", "http://server4/a", "server4/a"} {
		if _, err := parseRequests(text); !errors.As(err, new(usageError)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
