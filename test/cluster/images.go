package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	critest "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
)

// image says what stands for the images whose reference starts with Prefix.
type image struct {
	Prefix  string   `json:"prefix"`
	RootFS  string   `json:"rootfs,omitempty"`  // folder with an unpacked image root; empty: the host's system folders
	Command []string `json:"command,omitempty"` // ENTRYPOINT
	Args    []string `json:"args,omitempty"`    // CMD
	Env     []string `json:"env,omitempty"`     // may use ${TAG}, the whole reference
	Cwd     string   `json:"cwd,omitempty"`     // WORKDIR
	UID     *int64   `json:"uid,omitempty"`     // USER
	Refuse  bool     `json:"refuse,omitempty"`  // cannot be pulled, whatever a later entry says
}

// images is the image store: a file, read again when it changes. The first prefix that fits counts. No entry, or one
// that refuses: the image cannot be pulled, and is gone from nodes that had it.
type images struct {
	*critest.FakeImageService // what we do not implement
	file                      string

	mu   sync.Mutex
	read os.FileInfo
	list []image
}

func (s *images) find(ref string) *image {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := os.Stat(s.file)
	if err == nil && (s.read == nil || st.ModTime() != s.read.ModTime() || st.Size() != s.read.Size()) {
		var list []image
		var b []byte
		if b, err = os.ReadFile(s.file); err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err == nil {
			s.read, s.list = st, list
		}
	}
	if err != nil {
		klog.Background().Error(err, "Images keep their last good definition", "file", s.file)
	}
	for i := range s.list {
		if !strings.HasPrefix(ref, s.list[i].Prefix) {
			continue
		}
		if s.list[i].Refuse {
			break
		}
		return &s.list[i]
	}
	return nil
}

// named gives an image reference its default tag.
func named(ref string) string {
	if !strings.Contains(ref[strings.LastIndex(ref, "/")+1:], ":") {
		ref += ":latest"
	}
	return ref
}

// id is the made-up digest of an image.
func id(ref string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(ref))) }

// digested is REPOSITORY@DIGEST of a named reference.
func digested(ref string) string {
	if strings.Contains(ref, "@") {
		return ref
	}
	return ref[:strings.LastIndex(ref, ":")] + "@" + id(ref)
}

func (s *images) ImageStatus(_ context.Context, spec *cri.ImageSpec, _ bool) (*cri.ImageStatusResponse, error) {
	ref := named(spec.Image)
	img := s.find(ref)
	if img == nil {
		return &cri.ImageStatusResponse{}, nil
	}
	out := &cri.Image{Id: id(ref), RepoTags: []string{ref}, RepoDigests: []string{digested(ref)}, Size: 1, Spec: spec}
	if img.UID != nil {
		out.Uid = &cri.Int64Value{Value: *img.UID}
	}
	return &cri.ImageStatusResponse{Image: out}, nil
}

func (s *images) PullImage(_ context.Context, spec *cri.ImageSpec, _ *cri.AuthConfig,
	_ *cri.PodSandboxConfig) (string, error) {
	ref := named(spec.Image)
	if s.find(ref) == nil {
		return "", fmt.Errorf("image %q: not found", ref)
	}
	return id(ref), nil
}
