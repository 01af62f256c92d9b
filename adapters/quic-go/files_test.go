package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestFiles(t *testing.T) {
	outer := t.TempDir()
	www := filepath.Join(outer, "www")
	if err := os.MkdirAll(filepath.Join(www, "i"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"www/index.html": "<p>", "www/i/0.png": "image", "www/prime": "\n", "secret": "no"} {
		if err := os.WriteFile(filepath.Join(outer, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := fileServer(www, answerWhole)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		method, path string
		status       int
		body, kind   string
	}{
		{"GET", "/index.html", 200, "<p>", "text/html; charset=utf-8"},
		{"GET", "/i/0.png", 200, "image", "image/png"},
		{"GET", "/prime", 200, "\n", "application/octet-stream"},
		{"GET", "/", 404, "", ""},
		{"GET", "/i", 404, "", ""},
		{"GET", "/missing", 404, "", ""},
		{"GET", "/../secret", 404, "", ""},
		{"DELETE", "/prime", 405, "", ""},
	}
	for _, c := range cases {
		t.Run(c.method+c.path, func(t *testing.T) {
			request := httptest.NewRequest(c.method, "https://www.example.test/", nil)
			request.URL.Path = c.path
			request.Header.Set("Accept-Encoding", "gzip, br")
			answer := httptest.NewRecorder()
			files.ServeHTTP(answer, request)
			if answer.Code != c.status {
				t.Fatalf("status %d, want %d", answer.Code, c.status)
			}
			if c.status != http.StatusOK {
				return
			}
			header := answer.Header()
			if answer.Body.String() != c.body || header.Get("Content-Type") != c.kind || header.Get("Cache-Control") != "no-store" {
				t.Errorf("%q %v", answer.Body, header)
			}
			for _, name := range []string{"Alt-Svc", "Content-Encoding", "Last-Modified", "Etag"} {
				if header.Get(name) != "" {
					t.Errorf("%s: %s", name, header.Get(name))
				}
			}
		})
	}
}

func TestAuthorityLeavesOutTheSchemesOwnPort(t *testing.T) {
	if got := hostPort("www.example.test", 443); got != "www.example.test" {
		t.Error(got)
	}
	if got := hostPort("www.example.test", 4433); got != "www.example.test:4433" {
		t.Error(got)
	}
}
