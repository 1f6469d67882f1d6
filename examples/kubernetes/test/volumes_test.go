package test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// mountVolumes makes the pod's volumes as a kubelet would: owned by root, and
// handed to fsGroup.
func (p *pod) mountVolumes(w workload) {
	p.t.Helper()
	for _, v := range w.template.Spec.Volumes {
		switch {
		case v.Secret != nil && v.Secret.SecretName == foreignSecret:
			p.volumes[v.Name] = p.files(nil, v.Secret.DefaultMode)
		case v.Secret != nil:
			secret := byName[*corev1.Secret](p.t, p.cluster.objects, v.Secret.SecretName)
			p.volumes[v.Name] = p.files(secret.Data, v.Secret.DefaultMode)
		case v.ConfigMap != nil:
			p.volumes[v.Name] = p.files(bytesOf(byName[*corev1.ConfigMap](p.t, p.cluster.objects, v.ConfigMap.Name)), v.ConfigMap.DefaultMode)
		case v.EmptyDir != nil:
			p.volumes[v.Name] = p.emptyDir(v.EmptyDir)
		default:
			p.t.Fatalf("the volume %s is of a kind that this runner does not know", v.Name)
		}
	}
	for _, claim := range w.claims {
		if p.cluster.claims[claim.Name] == "" {
			p.cluster.claims[claim.Name] = p.cluster.volume()
		}
		p.volumes[claim.Name] = p.cluster.claims[claim.Name]
		p.handOver(p.volumes[claim.Name])
	}
}

// helper runs the image's busybox as root on a volume, with more input for tar.
func (p *pod) helper(volume string, input []byte, command ...string) {
	p.t.Helper()
	args := append([]string{"run", "--rm", "--interactive", "--network", "none", "--user", "0:0", "--volume", volume + ":/v",
		"--entrypoint", "/bin/busybox", imageName}, command...)
	if got := dockerInput(bytes.NewReader(input), args...); got.Code != 0 {
		p.t.Fatalf("cannot prepare a volume: %v: %s%s", command, got.Stdout, got.Stderr)
	}
}

// files makes a volume of files that come as symlinks into a hidden directory,
// as a kubelet writes them. For fsGroup it makes them readable for the group.
func (p *pod) files(data map[string][]byte, mode *int32) string {
	p.t.Helper()
	volume := p.cluster.volume()
	p.fill(volume, "..2026_12_01", data, mode)
	return volume
}

// fill puts the files into a hidden directory of that name, and has the links lead there from one moment to the next.
func (p *pod) fill(volume, hidden string, data map[string][]byte, mode *int32) {
	p.t.Helper()
	perm, group := int64(0o644), p.fsGroup()
	if mode != nil {
		perm = int64(*mode)
	}
	if group != 0 {
		perm |= 0o440
	}
	headers := []*tar.Header{
		{Name: "./", Typeflag: tar.TypeDir, Mode: 0o2755},
		{Name: hidden + "/", Typeflag: tar.TypeDir, Mode: 0o2755},
		{Name: "..data_tmp", Typeflag: tar.TypeSymlink, Linkname: hidden, Mode: 0o777},
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		headers = append(headers,
			&tar.Header{Name: hidden + "/" + name, Typeflag: tar.TypeReg, Mode: perm, Size: int64(len(data[name]))},
			&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: "..data/" + name, Mode: 0o777})
	}
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	for _, header := range headers {
		header.Gid = group
		if err := out.WriteHeader(header); err != nil {
			p.t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := out.Write(data[header.Name[len(hidden)+1:]]); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if err := out.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.helper(volume, archive.Bytes(), "sh", "-c", "tar -x -p -C /v && mv -T /v/..data_tmp /v/..data")
}

// bytesOf are the files of a ConfigMap.
func bytesOf(m *corev1.ConfigMap) map[string][]byte {
	files := maps.Clone(m.BinaryData)
	if files == nil {
		files = map[string][]byte{}
	}
	for name, text := range m.Data {
		files[name] = []byte(text)
	}
	return files
}

func (p *pod) emptyDir(source *corev1.EmptyDirVolumeSource) string {
	p.t.Helper()
	if source.Medium != corev1.StorageMediumMemory || source.SizeLimit == nil {
		p.t.Fatal("this runner knows emptyDir in memory and of limited size only")
	}
	return p.cluster.volume("--opt", "type=tmpfs", "--opt", "device=tmpfs",
		"--opt", fmt.Sprintf("o=size=%d,mode=2777,uid=0,gid=%d", source.SizeLimit.Value(), p.fsGroup()))
}

// handOver gives a claim's volume to fsGroup, unless its root belongs to that
// already (OnRootMismatch).
func (p *pod) handOver(volume string) {
	p.t.Helper()
	security := p.spec.SecurityContext
	if security.FSGroupChangePolicy == nil || *security.FSGroupChangePolicy != corev1.FSGroupChangeOnRootMismatch {
		p.t.Fatal("this runner knows the fsGroupChangePolicy OnRootMismatch only")
	}
	group := strconv.Itoa(p.fsGroup())
	p.helper(volume, nil, "sh", "-ec", `[ "$(stat -c %g /v)" = `+group+` ] || { chgrp -R `+group+` /v; chmod -R ug+rw /v; chmod 2775 /v; }`)
}
