package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"celld-operator/test/cluster/container"
)

// specify says what the container is to be: the image's word, overridden by the pod's.
func (r *processRuntime) specify(c *process) (s container.Spec, err error) {
	config, ref := c.config, c.Image.Image
	img := r.images.find(ref)
	if img == nil {
		return s, fmt.Errorf("image %q: not found", ref)
	}
	s = container.Spec{Root: filepath.Join(r.roots, c.Id), RootFS: img.RootFS, Cwd: config.WorkingDir,
		Hostname: c.sandbox.config.Hostname}
	if s.Cwd == "" {
		s.Cwd = img.Cwd
	}
	if f := r.resolvConf(c.sandbox.Id); c.sandbox.config.DnsConfig != nil {
		s.Binds = append(s.Binds, container.Bind{From: f, To: "/etc/resolv.conf", ReadOnly: true})
	}
	for _, m := range config.Mounts {
		s.Binds = append(s.Binds, container.Bind{From: m.HostPath, To: m.ContainerPath, ReadOnly: m.Readonly})
	}
	command, args := config.Command, config.Args
	if len(command) == 0 {
		command = img.Command
		if len(args) == 0 {
			args = img.Args
		}
	}
	if s.Args = append(append(s.Args, command...), args...); len(s.Args) == 0 {
		return s, fmt.Errorf("image %q: no command", ref)
	}
	home := "/"
	if l := config.Linux; l != nil && l.SecurityContext != nil {
		sc := l.SecurityContext
		s.UID, s.GID = int(sc.RunAsUser.GetValue()), int(sc.RunAsGroup.GetValue())
		for _, g := range sc.SupplementalGroups {
			s.Groups = append(s.Groups, int(g))
		}
		s.ReadOnly = sc.ReadonlyRootfs
	}
	if s.UID == 0 {
		home = "/root"
	}
	s.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + home, "HOSTNAME=" + s.Hostname, "IMAGE=" + ref}
	for _, e := range img.Env {
		s.Env = append(s.Env, strings.ReplaceAll(e, "${TAG}", ref))
	}
	for _, e := range config.Envs {
		s.Env = append(s.Env, e.Key+"="+string(e.Value))
	}
	s.Env = lastOfEach(s.Env)
	return s, nil
}

// lastOfEach keeps the last setting of each variable.
func lastOfEach(env []string) (out []string) {
	seen := map[string]bool{}
	for _, e := range slices.Backward(env) {
		if k, _, _ := strings.Cut(e, "="); !seen[k] {
			seen[k] = true
			out = append(out, e)
		}
	}
	return out
}
