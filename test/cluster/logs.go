package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// createLog makes the log that the kubelet wants to see from the start and after each rotation.
func createLog(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func (r *processRuntime) ReopenContainerLog(_ context.Context, id string) error {
	c, err := r.find(id, cri.ContainerState_CONTAINER_RUNNING)
	if err != nil {
		return err
	}
	return createLog(c.LogPath)
}

// copyLog writes a log as the kubelet reads it. It opens the file for every line, because the kubelet rotates it.
func copyLog(in io.ReadCloser, path, stream string) {
	defer in.Close()
	rd := bufio.NewReaderSize(in, 16<<10)
	for {
		line, part, err := rd.ReadLine()
		if err != nil {
			return
		}
		tag := "F"
		if part {
			tag = "P"
		}
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
			fmt.Fprintf(f, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), stream, tag, line)
			f.Close()
		}
	}
}
