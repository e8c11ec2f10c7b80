package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"celld-operator/test/cluster/container"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	critest "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/cri-streaming/pkg/streaming"
)

// processRuntime is a container runtime of plain processes: a sandbox is a network namespace, a container is one
// process with mount, PID, UTS and IPC namespaces of its own.
type processRuntime struct {
	*critest.FakeRuntimeService // what we do not implement
	images                      *images
	roots, records              string // folders
	net                         network
	gateways                    []net.IP
	streams                     streaming.Server

	mu         sync.Mutex // guards what follows, and State of every sandbox and container
	pool       pool
	sandboxes  map[string]*sandbox
	containers map[string]*process
}

// process is a container.
type process struct {
	*cri.ContainerStatus
	sandbox *sandbox
	config  *cri.ContainerConfig
	spec    container.Spec
	cmd     *exec.Cmd
	done    chan struct{}
}

func newID() string { return strings.ToLower(rand.Text()[:12]) }

func (r *processRuntime) CreateContainer(_ context.Context, sid string, config *cri.ContainerConfig,
	_ *cri.PodSandboxConfig) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[sid]
	if s == nil {
		return "", fmt.Errorf("pod sandbox %q: not found", sid)
	}
	id, ref := newID(), named(config.Image.UserSpecifiedImage)
	status := &cri.ContainerStatus{Id: id, Metadata: config.Metadata, State: cri.ContainerState_CONTAINER_CREATED,
		CreatedAt: time.Now().UnixNano(), Image: &cri.ImageSpec{Image: ref}, ImageRef: digested(ref),
		ImageId: config.Image.Image, Labels: config.Labels, Annotations: config.Annotations, Mounts: config.Mounts,
		LogPath: filepath.Join(s.config.LogDirectory, config.LogPath)}
	r.containers[id] = &process{ContainerStatus: status, sandbox: s, config: config, done: make(chan struct{})}
	return id, nil
}

// find returns a container that is in the wanted state, in a sandbox that has its network.
func (r *processRuntime) find(id string, state cri.ContainerState) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil || c.State != state || c.sandbox.State != cri.PodSandboxState_SANDBOX_READY {
		return nil, fmt.Errorf("container %q: not in state %s", id, state)
	}
	return c, nil
}

func (r *processRuntime) StartContainer(_ context.Context, id string) error {
	c, err := r.find(id, cri.ContainerState_CONTAINER_CREATED)
	if err != nil {
		return err
	}
	if c.spec, err = r.specify(c); err != nil {
		return err
	}
	if err := createLog(c.LogPath); err != nil {
		return err
	}
	var stdout, stderr, spec, status pipe
	for _, p := range []*pipe{&stdout, &stderr, &spec, &status} {
		if p.r, p.w, err = os.Pipe(); err != nil {
			return err
		}
	}
	for _, p := range []pipe{stdout, stderr} { // while this process is frozen, a container may write so much
		unix.FcntlInt(p.w.Fd(), unix.F_SETPIPE_SZ, 1<<20)
	}
	var logs sync.WaitGroup
	logs.Go(func() { copyLog(stdout.r, c.LogPath, "stdout") })
	logs.Go(func() { copyLog(stderr.r, c.LogPath, "stderr") })
	self, _ := os.Executable()
	c.cmd = exec.Command(self, container.Command)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.ExtraFiles = stdout.w, stderr.w, []*os.File{spec.r, status.w}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	err = inNetns(c.sandbox.ns, c.cmd.Start)
	for _, f := range []*os.File{stdout.w, stderr.w, spec.r, status.w} {
		f.Close()
	}
	defer status.r.Close()
	if err != nil {
		spec.w.Close()
		return err
	}
	// The process waits for its spec and ends without it: none runs that is not on record.
	if err = r.record(id, c.sandbox.podName(), c.Metadata.Name, c.cmd.Process.Pid); err == nil {
		err = json.NewEncoder(spec.w).Encode(c.spec)
	}
	spec.w.Close()
	if text, _ := io.ReadAll(status.r); len(text) > 0 {
		err = errors.New(string(text))
	}
	r.mu.Lock()
	c.State, c.StartedAt = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano()
	r.mu.Unlock()
	go func() {
		c.cmd.Wait()
		logs.Wait()
		r.ended(c, err)
	}()
	return err
}

type pipe struct{ r, w *os.File }

// ended notes how a container ended; failure is why it did not start.
func (r *processRuntime) ended(c *process, failure error) {
	ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	code, reason, message := int32(ws.ExitStatus()), "Completed", ""
	if ws.Signaled() {
		code = 128 + int32(ws.Signal())
	}
	if code != 0 {
		reason = "Error"
	}
	if r.forget(c.Id) {
		reason = "OOMKilled"
	}
	if failure != nil {
		reason, message = "StartError", failure.Error()
	}
	os.Remove(c.spec.Root)
	r.mu.Lock()
	defer r.mu.Unlock()
	c.State, c.FinishedAt = cri.ContainerState_CONTAINER_EXITED, time.Now().UnixNano()
	c.ExitCode, c.Reason, c.Message = code, reason, message
	close(c.done)
}

func (r *processRuntime) StopContainer(_ context.Context, id string, timeout int64) error {
	c, err := r.find(id, cri.ContainerState_CONTAINER_RUNNING)
	if err != nil {
		return nil
	}
	if timeout > 0 {
		c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.done:
			return nil
		case <-time.After(time.Duration(timeout) * time.Second):
		}
	}
	c.cmd.Process.Kill()
	<-c.done
	return nil
}

func (r *processRuntime) RemoveContainer(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[id]; c != nil {
		os.Remove(c.LogPath)
	}
	delete(r.containers, id)
	return nil
}

func (r *processRuntime) ListContainers(_ context.Context, f *cri.ContainerFilter) ([]*cri.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*cri.Container
	for _, c := range r.containers {
		if f != nil && (f.Id != "" && f.Id != c.Id || f.PodSandboxId != "" && f.PodSandboxId != c.sandbox.Id ||
			f.State != nil && f.State.State != c.State || !labelsMatch(f.LabelSelector, c.Labels)) {
			continue
		}
		out = append(out, &cri.Container{Id: c.Id, PodSandboxId: c.sandbox.Id, Metadata: c.Metadata, Image: c.Image,
			ImageRef: c.ImageRef, ImageId: c.ImageId, State: c.State, CreatedAt: c.CreatedAt, Labels: c.Labels,
			Annotations: c.Annotations})
	}
	return out, nil
}

func (r *processRuntime) ContainerStatus(_ context.Context, id string, _ bool) (*cri.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil {
		return nil, fmt.Errorf("container %q: not found", id)
	}
	return &cri.ContainerStatusResponse{Status: proto.CloneOf(c.ContainerStatus)}, nil
}

// UpdateContainerResources accepts every resize: limits are not enforced here.
func (r *processRuntime) UpdateContainerResources(context.Context, string, *cri.ContainerResources) error {
	return nil
}

func (r *processRuntime) Status(context.Context, bool) (*cri.StatusResponse, error) {
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: "RuntimeReady", Status: true}, {Type: "NetworkReady", Status: true}}}}, nil
}

func (r *processRuntime) Version(context.Context, string) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "process", RuntimeVersion: "1.0.0",
		RuntimeApiVersion: "v1"}, nil
}
