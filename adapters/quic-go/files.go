package main

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// contentTypes is fixed here, because the mime package would ask the machine's own tables.
var contentTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".jpg":  "image/jpeg",
	".m4s":  "video/iso.segment",
	".mp4":  "video/mp4",
	".mpd":  "application/dash+xml",
	".png":  "image/png",
	".svg":  "image/svg+xml",
	".webm": "video/webm",
	".webp": "image/webp",
}

// fileServer serves the files below a folder, byte for byte: no redirects, no listings, no compression, no caching.
// The file server of net/http would answer /index.html with a redirect.
//
// It takes uploads to any path, and answers them as `uploads` says.
func fileServer(folder, uploads string) (http.Handler, error) {
	open, err := openerIn(folder)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			takeUpload(w, r, uploads)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET, HEAD, POST and PUT", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		file, err := open(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil || !info.Mode().IsRegular() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentType(name))
		w.Header().Set("Cache-Control", "no-store")
		http.ServeContent(w, r, name, time.Time{}, file)
	}), nil
}

func contentType(name string) string {
	if kind, known := contentTypes[strings.ToLower(path.Ext(name))]; known {
		return kind
	}
	return "application/octet-stream"
}

// hostPort is the authority of a URL: the port is left out where it is the scheme's own, as browsers do.
func hostPort(host string, port int) string {
	if port == 443 {
		return host
	}
	return fmt.Sprintf("%s:%d", host, port)
}
