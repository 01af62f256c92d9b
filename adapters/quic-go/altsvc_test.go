package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestEveryAnswerNamesHTTP3WhereThatIsAsked(t *testing.T) {
	files := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	for port, want := range map[int]string{0: "", 443: `h3=":443"; ma=86400`, 4: `h3=":4"; ma=86400`} {
		answer := httptest.NewRecorder()
		advertising(files, port).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/none", nil))
		if got := answer.Header().Get("Alt-Svc"); got != want || answer.Code != http.StatusNotFound {
			t.Errorf("port %d: Alt-Svc %q, status %d", port, got, answer.Code)
		}
	}
}
