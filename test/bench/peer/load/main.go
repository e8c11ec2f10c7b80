// load sends one review over and over through N connections that stay open, over TLS, and prints one line of JSON: reviews
// per second, latencies, and what the server process spent on them (from /proc).
//
//	load -address HOST:PORT -path /validate-workerapp -body FILE -connections N -seconds S -pid PID
//	load ... -once: sends it once and prints the answer's body
//
// It writes prepared bytes and reads answers by their Content-Length, so that the client costs less than any server.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	address     = flag.String("address", "", "server")
	path        = flag.String("path", "/validate-workerapp", "path")
	bodyFile    = flag.String("body", "", "file with the body")
	connections = flag.Int("connections", 16, "connections")
	seconds     = flag.Float64("seconds", 3, "how long, after a tenth of it to warm up")
	pid         = flag.Int("pid", 0, "the server")
	once        = flag.Bool("once", false, "send one, print the answer")
)

type client struct {
	conn *tls.Conn
	in   *bufio.Reader
}

func dial() *client {
	c, err := tls.Dial("tcp", *address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		log.Fatal(err)
	}
	return &client{c, bufio.NewReaderSize(c, 16<<10)}
}

// ask returns the answer's body, in a buffer that the next one overwrites.
func (c *client) ask(request, to []byte) []byte {
	if _, err := c.conn.Write(request); err != nil {
		log.Fatal(err)
	}
	status, length := "", -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			log.Fatal(err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if status == "" {
			status = string(line)
			continue
		}
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200") || length < 0 || length > cap(to) {
		log.Fatalf("answer %q with length %d", status, length)
	}
	if _, err := io.ReadFull(c.in, to[:length]); err != nil {
		log.Fatal(err)
	}
	return to[:length]
}

// cpu is what all threads of the server have used, in seconds.
func cpu() float64 {
	var sum int64
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", *pid))
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		n, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		sum += n
	}
	return float64(sum) / 1e9
}

// rssAnon in kB.
func rssAnon() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", *pid))
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(f[0], 10, 64)
	return n
}

func main() {
	flag.Parse()
	body, err := os.ReadFile(*bodyFile)
	if err != nil {
		log.Fatal(err)
	}
	request := append([]byte(fmt.Sprintf("POST %s?timeout=10s HTTP/1.1\r\nHost: webhook\r\nUser-Agent: kube-apiserver-admission\r\n"+
		"Accept: application/json, */*\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", *path, len(body))), body...)
	if *once {
		fmt.Printf("%s", dial().ask(request, make([]byte, 1<<20)))
		return
	}
	idle := rssAnon()
	var wg sync.WaitGroup
	var measuring, ended atomic.Bool
	all := make([][]time.Duration, *connections)
	clients := make([]*client, *connections)
	for i := range clients {
		clients[i] = dial()
	}
	for i := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			to := make([]byte, 1<<20)
			for !ended.Load() {
				begun := time.Now()
				clients[i].ask(request, to)
				if measuring.Load() {
					all[i] = append(all[i], time.Since(begun))
				}
			}
		}()
	}
	time.Sleep(time.Duration(*seconds * float64(time.Second) / 10))
	begun, used := time.Now(), cpu()
	measuring.Store(true)
	peak, end := int64(0), begun.Add(time.Duration(*seconds*float64(time.Second)))
	for time.Now().Before(end) {
		peak = max(peak, rssAnon())
		time.Sleep(20 * time.Millisecond)
	}
	measuring.Store(false)
	took := time.Since(begun).Seconds()
	used = cpu() - used
	ended.Store(true)
	wg.Wait()
	latencies := slices.Concat(all...)
	slices.Sort(latencies)
	at := func(q float64) float64 {
		if len(latencies) == 0 {
			return 0
		}
		return float64(latencies[min(len(latencies)-1, int(q*float64(len(latencies))))].Microseconds()) / 1000
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"reviews": len(latencies), "per_second": float64(len(latencies)) / took, "p50_ms": at(0.5), "p99_ms": at(0.99),
		"cpu_us": used * 1e6 / float64(max(1, len(latencies))), "idle_kb": idle, "peak_kb": peak,
	})
}
