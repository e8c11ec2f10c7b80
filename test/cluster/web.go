package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

// runWeb is the tiny web server behind the image "web:": every path answers with the host's name and the image.
func runWeb() {
	port := "8080"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	host, err := os.Hostname()
	must(err)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM) // PID 1 gets no signal that it does not ask for
	go func() {
		<-term
		os.Exit(0)
	}()
	must(http.ListenAndServe(":"+port, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		fmt.Fprintf(w, "%s %s\n", host, os.Getenv("IMAGE"))
	})))
}
