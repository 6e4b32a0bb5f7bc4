package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/words"
)

// pageFile is a file of the page, as it is sent.
type pageFile struct {
	kind      string
	tag       string // ETag
	plain     []byte
	gzipped   []byte // nil where that saves nothing
	immutable bool   // its name has a hash of its content
}

// pageFiles reads the files of the page and compresses them once, for all requests.
func pageFiles(files fs.FS) (map[string]pageFile, error) {
	all := map[string]pageFile{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		f := pageFile{
			kind: kindOf(name), tag: `"` + hex.EncodeToString(sum[:12]) + `"`, plain: content,
			immutable: strings.HasPrefix(name, "assets/"),
		}
		var packed bytes.Buffer
		// Neither level nor buffer can fail.
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		_, _ = w.Write(content)
		_ = w.Close()
		if packed.Len() < len(content) {
			f.gzipped = packed.Bytes()
		}
		all["/"+name] = f
		return nil
	})
	return all, err
}

func kindOf(name string) string {
	if path.Ext(name) == ".woff2" {
		return "font/woff2"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// page sends a file of the page. A path without an extension is an address within the
// page, which the page's own script understands.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if path.Ext(name) == "" && !strings.HasPrefix(name, "/v1/") {
		name = "/index.html"
	}
	f, there := s.files[name]
	if methods := s.methods(r, there); len(methods) > 0 && !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		writeProblem(w, http.StatusMethodNotAllowed, r.URL.Path+" takes "+words.List(methods)+", but not "+r.Method)
		return
	}
	if !there {
		writeProblem(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+"; /openapi.json lists what there is")
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	if h.Set("Cache-Control", "no-cache"); f.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content, tag := f.plain, f.tag
	if f.gzipped != nil && acceptsGzip(r) {
		content, tag = f.gzipped, strings.TrimSuffix(f.tag, `"`)+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodGet {
		w.Write(content)
	}
}

// methods returns those that the address of a request takes, whose own the mux has not found.
func (s *Server) methods(r *http.Request, isFile bool) (list []string) {
	if isFile {
		return []string{http.MethodGet, http.MethodHead}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := s.mux.Handler(&other); pattern != "/" {
			list = append(list, method)
		}
	}
	return list
}

// acceptsGzip reports whether the client accepts gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		if strings.TrimSpace(coding) == "gzip" {
			return strings.ReplaceAll(weight, " ", "") != "q=0"
		}
	}
	return false
}
