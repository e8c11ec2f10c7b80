package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netns"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is a pod's network namespace.
type sandbox struct {
	*cri.PodSandbox
	config *cri.PodSandboxConfig
	number int // in the pool, -1: none
	ips    []net.IP
	ns     netns.NsHandle // not open: the bed's (hostNetwork)
}

// podName is how records name a pod.
func (s *sandbox) podName() string { return s.Metadata.Namespace + "/" + s.Metadata.Name }

func (s *sandbox) namespaces() *cri.NamespaceOption {
	if l := s.config.Linux; l != nil && l.SecurityContext != nil && l.SecurityContext.NamespaceOptions != nil {
		return l.SecurityContext.NamespaceOptions
	}
	return &cri.NamespaceOption{}
}

func (r *processRuntime) resolvConf(sandboxID string) string {
	return filepath.Join(r.roots, sandboxID+".resolv.conf")
}

func (r *processRuntime) RunPodSandbox(_ context.Context, config *cri.PodSandboxConfig, _ string) (string, error) {
	id := newID()
	s := &sandbox{config: config, number: -1, ips: r.gateways, ns: netns.None(), PodSandbox: &cri.PodSandbox{Id: id,
		Metadata: config.Metadata, State: cri.PodSandboxState_SANDBOX_READY, CreatedAt: time.Now().UnixNano(),
		Labels: config.Labels, Annotations: config.Annotations}}
	if err := r.setUp(s); err != nil {
		r.release(s)
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sandboxes[id] = s
	return id, nil
}

func (r *processRuntime) setUp(s *sandbox) error {
	if err := os.MkdirAll(s.config.LogDirectory, 0o755); err != nil {
		return err
	}
	if d := s.config.DnsConfig; d != nil {
		text := ""
		for _, a := range d.Servers {
			text += "nameserver " + a + "\n"
		}
		text += "search " + strings.Join(d.Searches, " ") + "\noptions " + strings.Join(d.Options, " ") + "\n"
		if err := os.WriteFile(r.resolvConf(s.Id), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if s.namespaces().Network == cri.NamespaceMode_NODE {
		return nil
	}
	r.mu.Lock()
	number, err := r.pool.take()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	s.number, s.ips = number, r.net.ips(r.pool.octets(number))
	if err := r.record(s.Id, s.podName(), "-", 0); err != nil {
		return err
	}
	s.ns, err = addNetwork(s.Id, s.ips, r.gateways)
	return err
}

// release gives back what setUp took, whole or half.
func (r *processRuntime) release(s *sandbox) {
	os.Remove(r.resolvConf(s.Id))
	if s.number < 0 {
		return
	}
	removeNetwork(s.Id, s.ns)
	r.forget(s.Id)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pool.used, s.number)
}

func (r *processRuntime) StopPodSandbox(ctx context.Context, id string) error {
	r.mu.Lock()
	s := r.sandboxes[id]
	all := maps.Clone(r.containers)
	r.mu.Unlock()
	for cid, c := range all {
		if c.sandbox == s {
			r.StopContainer(ctx, cid, 0)
		}
	}
	r.mu.Lock()
	ready := s != nil && s.State == cri.PodSandboxState_SANDBOX_READY
	if ready {
		s.State = cri.PodSandboxState_SANDBOX_NOTREADY
	}
	r.mu.Unlock()
	if ready {
		r.release(s)
	}
	return nil
}

func (r *processRuntime) RemovePodSandbox(ctx context.Context, id string) error {
	r.StopPodSandbox(ctx, id)
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.containers, func(_ string, c *process) bool { return c.sandbox.Id == id })
	delete(r.sandboxes, id)
	return nil
}

func (r *processRuntime) PodSandboxStatus(_ context.Context, id string, _ bool) (*cri.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return nil, fmt.Errorf("pod sandbox %q: not found", id)
	}
	n := &cri.PodSandboxNetworkStatus{Ip: s.ips[0].String()}
	for _, ip := range s.ips[1:] {
		n.AdditionalIps = append(n.AdditionalIps, &cri.PodIP{Ip: ip.String()})
	}
	linux := &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: s.namespaces()}}
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{Id: id, Metadata: s.Metadata, State: s.State,
		CreatedAt: s.CreatedAt, Network: n, Linux: linux, Labels: s.Labels, Annotations: s.Annotations}}, nil
}

func labelsMatch(want, have map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func (r *processRuntime) ListPodSandbox(_ context.Context, f *cri.PodSandboxFilter) ([]*cri.PodSandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*cri.PodSandbox
	for _, s := range r.sandboxes {
		if f != nil && (f.Id != "" && f.Id != s.Id || f.State != nil && f.State.State != s.State ||
			!labelsMatch(f.LabelSelector, s.Labels)) {
			continue
		}
		out = append(out, &cri.PodSandbox{Id: s.Id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt,
			Labels: s.Labels, Annotations: s.Annotations})
	}
	return out, nil
}
