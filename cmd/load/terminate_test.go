package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SIGTERM in the middle of training: a request that is under way ends, the job goes on after
// the restart and hands out the rows that it would have handed out, and every label that was
// acknowledged is there.
func TestTerminate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	s, err := startService(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.kill() }()
	ctx := context.Background()
	must := func(raw []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	const long = `{"network":{"architecture":{"hidden":[64,64]},"training":{"epochs":2000}},"seed":1}`
	must(s.do(ctx, s.owner, "POST", "/v1/campaigns?name=told&target=y&id=name", "text/csv", table(5000), ""))
	for _, name := range []string{"stopped", "undisturbed"} {
		must(s.do(ctx, s.owner, "POST", "/v1/campaigns?name="+name+"&target=y&id=name", "text/csv", table(300), ""))
		must(s.do(ctx, s.owner, "PUT", "/v1/campaigns/"+name+"/settings", "application/json", long, ""))
	}
	type job struct {
		ID, State string
		Ask       int64
		Progress  struct {
			Stage string
			Done  int
		}
	}
	read := func(raw []byte) (j job) {
		t.Helper()
		if err := json.Unmarshal(raw, &j); err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := read(must(s.do(ctx, s.owner, "POST", "/v1/campaigns/stopped/asks", "application/json", `{"rows":8}`, "")))
	for j.Progress.Stage != "training" || j.Progress.Done < 2 {
		time.Sleep(time.Millisecond)
		if j = read(must(s.do(ctx, s.owner, "GET", "/v1/campaigns/stopped/jobs/"+j.ID, "", "", ""))); j.State != "running" {
			t.Fatalf("the job ended too early for this test: %+v", j)
		}
	}

	upload, answered := slowUpload(s)
	telling, told := make(chan struct{}), make(chan []string)
	go func() { told <- tellUntilRefused(s, telling) }()
	<-telling
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	acknowledged := <-told
	if len(acknowledged) == 0 {
		t.Error("no label was acknowledged")
	}
	io.WriteString(upload, "2,,\n3,,\n")
	upload.Close()
	if status := <-answered; status != http.StatusCreated {
		t.Errorf("an upload that was under way: %d", status)
	}
	if err := s.command.Wait(); err != nil {
		t.Errorf("the service ended with %v", err)
	}

	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	for j.State == "running" {
		time.Sleep(5 * time.Millisecond)
		j = read(must(s.do(ctx, s.owner, "GET", "/v1/campaigns/stopped/jobs/"+j.ID, "", "", "")))
	}
	if j.State != "done" || j.Ask != 1 {
		t.Fatalf("after the restart: %+v", j)
	}
	if _, err := s.job(ctx, s.owner, "undisturbed", "asks", `{"rows":8}`, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := idsOf(t, must(s.do(ctx, s.owner, "GET", "/v1/campaigns/stopped/asks/1", "", "", ""))),
		idsOf(t, must(s.do(ctx, s.owner, "GET", "/v1/campaigns/undisturbed/asks/1", "", "", ""))); len(got) != 8 ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("the job handed out %v, without the interruption %v", got, want)
	}
	labels := string(must(s.do(ctx, s.owner, "GET", "/v1/campaigns/told/rows/export?status=labelled", "", "", "")))
	for _, id := range acknowledged {
		if !strings.Contains(labels, ","+id+",") {
			t.Errorf("the label of %s is lost", id)
		}
	}
	must(s.do(ctx, s.owner, "GET", "/v1/campaigns/uploaded", "", "", ""))
	t.Logf("%d labels were acknowledged", len(acknowledged))
}

// slowUpload begins to create a campaign; the answer comes once the rest of the table has.
func slowUpload(s *service) (rest io.WriteCloser, answered <-chan int) {
	from, to := io.Pipe()
	statuses := make(chan int, 1)
	go func() {
		r, err := http.NewRequest("POST", "http://"+s.address+"/v1/campaigns?name=uploaded&target=y", from)
		if err != nil {
			panic(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.owner)
		r.Header.Set("Content-Type", "text/csv")
		a, err := client.Do(r)
		if err != nil {
			statuses <- 0
			return
		}
		defer a.Body.Close()
		statuses <- a.StatusCode
	}()
	io.WriteString(to, "a,b,y\n1,2,3\n")
	return to, statuses
}

// tellUntilRefused labels rows of the campaign "told" until the service takes no more, and
// returns those that it acknowledged. It closes the channel after the first few.
func tellUntilRefused(s *service, telling chan<- struct{}) (ids []string) {
	const few = 4
	for i := 64; ; i++ {
		id := fmt.Sprintf("s%d", i)
		body := fmt.Sprintf(`{"accept":true,"rows":[{"id":%q,"values":{"y":%d}}]}`, id, i)
		_, err := s.do(context.Background(), s.owner, "POST", "/v1/campaigns/told/tells", "application/json", body, "")
		if err == nil {
			ids = append(ids, id)
		}
		if len(ids) == few && err == nil || len(ids) < few && err != nil {
			close(telling)
		}
		if err != nil {
			return ids
		}
	}
}

func idsOf(t *testing.T, batch []byte) (ids []string) {
	t.Helper()
	var b struct{ Rows []struct{ ID string } }
	if err := json.Unmarshal(batch, &b); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.Rows {
		ids = append(ids, r.ID)
	}
	return ids
}
