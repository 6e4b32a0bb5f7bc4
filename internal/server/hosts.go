package server

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// ownHost rejects requests that name another host, if the service can be reached from this
// machine only: a page of another site may have its name resolved to this machine, and would then
// be of the same origin. With TLS the certificate rules that out, and a proxy in front
// knows its own names. Health is not secret, and programs that monitor services may name no host.
func (s *Server) ownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := s.mux.Handler(r)
		if pattern != "GET /health" && r.TLS == nil && !s.options.BehindProxy && overLoopback(r) && !isLoopback(r.Host) {
			writeProblem(w, http.StatusMisdirectedRequest,
				fmt.Sprintf("this service has the name localhost or the address of this machine, such as 127.0.0.1, not %q; "+
					"if a proxy passes requests on to it, start it with --behind-proxy", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// overLoopback reports whether a request came to an address of this machine that others cannot reach.
func overLoopback(r *http.Request) bool {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return at != nil && isLoopback(at.String())
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	name := strings.Trim(hostOf(host), "[]")
	ip := net.ParseIP(name)
	return strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") || ip != nil && ip.IsLoopback()
}
