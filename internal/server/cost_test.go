package server

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/nextbatch/nextbatch/campaign/sqlite"
)

// What a request costs without the network: make load measures the rest.
func BenchmarkRequests(b *testing.B) {
	v := newService(b)
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "c.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	v.server.options.Store, v.server.requests.burst = store, 1e12
	must[Campaign](b, v, "owner", "POST", small, sample(10000))
	for name, path := range map[string]string{"status": "/v1/campaigns/small",
		"rows": "/v1/campaigns/small/rows?offset=5000&limit=50"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Header.Set("Authorization", "Bearer "+v.secrets["owner"])
				a := httptest.NewRecorder()
				if v.server.ServeHTTP(a, r); a.Code != http.StatusOK {
					b.Fatal(a.Code, a.Body)
				}
			}
		})
	}
}
