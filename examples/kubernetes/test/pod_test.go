package test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// pod is a pod that runs: a container that holds its network namespace, and one
// for each of its own.
type pod struct {
	t          *testing.T
	cluster    *cluster
	name       string
	namespace  string
	spec       corev1.PodSpec
	sandbox    string
	volumes    map[string]string // by the pod's name for it
	containers map[string]string // by the pod's name for it
}

// startPod makes the pod of a workload, runs its init containers to their end,
// and starts the others.
func (c *cluster) startPod(name string) *pod {
	c.t.Helper()
	p := c.newPod(name)
	p.runInit()
	for _, container := range p.spec.Containers {
		p.start(container)
	}
	return p
}

// newPod makes the pod without any of its containers.
func (c *cluster) newPod(name string) *pod {
	c.t.Helper()
	w := c.workload(name)
	p := &pod{t: c.t, cluster: c, name: name + "-0", namespace: w.namespace, spec: w.template.Spec, sandbox: newName(),
		volumes: map[string]string{}, containers: map[string]string{}}
	p.known()
	p.mountVolumes(w)
	c.t.Cleanup(p.remove) // before the volumes: the last is the first to be called
	flags := []string{"run", "--detach", "--name", p.sandbox, "--network", c.network, "--hostname", p.name, "--entrypoint", "/bin/busybox"}
	for _, alias := range c.aliases(w) {
		flags = append(flags, "--network-alias", alias)
	}
	// Mounted here too, an emptyDir in memory lives as long as the pod.
	for _, volume := range p.volumes {
		flags = append(flags, "--volume", volume+":/volumes/"+volume+":ro")
	}
	mustDocker(c.t, append(flags, imageName, "sleep", "86400")...)
	return p
}

// known fails for what this runner would otherwise ignore.
func (p *pod) known() {
	p.t.Helper()
	rest := *p.spec.DeepCopy()
	security := rest.SecurityContext
	if security.RunAsUser == nil || security.RunAsGroup == nil || security.FSGroup == nil || security.SeccompProfile == nil ||
		security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		p.t.Fatalf("%s: user, group, fsGroup or the engine's seccomp profile is missing", p.name)
	}
	security.RunAsNonRoot, security.RunAsUser, security.RunAsGroup, security.FSGroup = nil, nil, nil, nil
	security.FSGroupChangePolicy, security.SeccompProfile = nil, nil
	if !reflect.DeepEqual(*security, corev1.PodSecurityContext{}) {
		p.t.Fatalf("%s: unknown to this runner: %+v", p.name, *security)
	}
	if rest.EnableServiceLinks == nil || *rest.EnableServiceLinks {
		p.t.Fatalf("%s: this runner makes no variables for Services", p.name)
	}
	rest.SecurityContext, rest.EnableServiceLinks, rest.AutomountServiceAccountToken, rest.TerminationGracePeriodSeconds = nil, nil, nil, nil
	rest.Volumes, rest.InitContainers, rest.Containers, rest.RestartPolicy = nil, nil, nil, ""
	rest.ServiceAccountName = "" // there is no API to use it with
	if !reflect.DeepEqual(rest, corev1.PodSpec{}) {
		p.t.Fatalf("%s: unknown to this runner: %+v", p.name, rest)
	}
}

func (p *pod) fsGroup() int { return int(*p.spec.SecurityContext.FSGroup) }

// runInit runs the init containers one after the other.
func (p *pod) runInit() {
	p.t.Helper()
	for _, c := range p.spec.InitContainers {
		if code := p.runToEnd(c); code != 0 {
			p.t.Fatalf("the init container %s ended with %d:\n%s", c.Name, code, p.log(c.Name))
		}
	}
}

// runToEnd runs a container until it ends, and returns its exit code.
func (p *pod) runToEnd(c corev1.Container) int {
	p.t.Helper()
	p.start(c)
	code, err := strconv.Atoi(mustDocker(p.t, "container", "wait", p.containers[c.Name]))
	if err != nil {
		p.t.Fatal(err)
	}
	return code
}

// start starts a container in the pod.
func (p *pod) start(c corev1.Container) {
	p.t.Helper()
	if old, ok := p.containers[c.Name]; ok {
		mustDocker(p.t, "container", "rm", old) // it has ended
	}
	name := newName()
	p.containers[c.Name] = name
	args := append([]string{"run", "--detach", "--name", name}, p.flags(c)...)
	mustDocker(p.t, args...)
}

// flags translates a container of the pod to arguments for docker run.
func (p *pod) flags(c corev1.Container) []string {
	p.t.Helper()
	rest := *c.DeepCopy()
	security := p.spec.SecurityContext
	flags := []string{"--network", "container:" + p.sandbox,
		"--user", strconv.FormatInt(*security.RunAsUser, 10) + ":" + strconv.FormatInt(*security.RunAsGroup, 10),
		"--group-add", strconv.FormatInt(*security.FSGroup, 10)}
	flags = append(flags, p.securityFlags(c)...)
	for _, mount := range c.VolumeMounts {
		if !reflect.DeepEqual(mount, corev1.VolumeMount{Name: mount.Name, MountPath: mount.MountPath, ReadOnly: mount.ReadOnly}) {
			p.t.Fatalf("%s: unknown to this runner: %+v", c.Name, mount)
		}
		// Without nocopy Docker would give the volume the owner that the image has
		// there, which hides what fsGroup must do.
		flag := "type=volume,volume-nocopy,source=" + p.volumes[mount.Name] + ",target=" + mount.MountPath
		if mount.ReadOnly {
			flag += ",readonly"
		}
		flags = append(flags, "--mount", flag)
	}
	for _, variable := range p.environment(c) {
		flags = append(flags, "--env", variable)
	}
	for name, quantity := range c.Resources.Limits {
		switch name {
		case corev1.ResourceMemory:
			flags = append(flags, "--memory", strconv.FormatInt(quantity.Value(), 10))
		default:
			p.t.Fatalf("%s: unknown to this runner: a limit of %s", c.Name, name)
		}
	}
	args := c.Args
	if len(c.Command) > 0 {
		flags, args = append(flags, "--entrypoint", c.Command[0]), slices.Concat(c.Command[1:], c.Args)
	}
	rest.Name, rest.Image, rest.Command, rest.Args, rest.Env, rest.EnvFrom, rest.Ports, rest.VolumeMounts = "", "", nil, nil, nil, nil, nil, nil
	rest.Resources, rest.SecurityContext = corev1.ResourceRequirements{}, nil
	rest.StartupProbe, rest.ReadinessProbe, rest.LivenessProbe = nil, nil, nil
	if !reflect.DeepEqual(rest, corev1.Container{}) {
		p.t.Fatalf("%s: unknown to this runner: %+v", c.Name, rest)
	}
	return slices.Concat(flags, []string{realImage(p.t, c.Image)}, args)
}

func (p *pod) securityFlags(c corev1.Container) []string {
	p.t.Helper()
	rest := *c.SecurityContext.DeepCopy()
	var flags []string
	if rest.AllowPrivilegeEscalation != nil && !*rest.AllowPrivilegeEscalation {
		flags = append(flags, "--security-opt", "no-new-privileges")
	}
	if rest.ReadOnlyRootFilesystem != nil && *rest.ReadOnlyRootFilesystem {
		flags = append(flags, "--read-only")
	}
	for _, capability := range rest.Capabilities.Drop {
		flags = append(flags, "--cap-drop", string(capability))
	}
	rest.AllowPrivilegeEscalation, rest.ReadOnlyRootFilesystem, rest.Capabilities.Drop = nil, nil, nil
	if !reflect.DeepEqual(rest, corev1.SecurityContext{Capabilities: &corev1.Capabilities{}}) {
		p.t.Fatalf("%s: unknown to this runner: %+v", c.Name, rest)
	}
	return flags
}

// environment returns the container's variables. Later ones win.
func (p *pod) environment(c corev1.Container) []string {
	p.t.Helper()
	var variables []string
	for _, from := range c.EnvFrom {
		for key, value := range byName[*corev1.ConfigMap](p.t, p.cluster.objects, from.ConfigMapRef.Name).Data {
			variables = append(variables, key+"="+value)
		}
	}
	for _, v := range c.Env {
		value := v.Value
		switch from := v.ValueFrom; {
		case from == nil && !strings.Contains(value, "$("):
		case from != nil && from.SecretKeyRef != nil:
			secret := byName[*corev1.Secret](p.t, p.cluster.objects, from.SecretKeyRef.Name)
			value = string(secret.Data[from.SecretKeyRef.Key])
		case from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			value = p.namespace
		default:
			p.t.Fatalf("%s: unknown to this runner: %+v", c.Name, v)
		}
		variables = append(variables, v.Name+"="+value)
	}
	return variables
}

func (p *pod) container(name string) corev1.Container {
	p.t.Helper()
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		if c.Name == name {
			return c
		}
	}
	p.t.Fatalf("%s has no container %s", p.name, name)
	return corev1.Container{}
}

func (p *pod) exec(container string, command ...string) result {
	return docker(append([]string{"exec", p.containers[container]}, command...)...)
}

func (p *pod) log(container string) string {
	got := docker("logs", p.containers[container])
	return got.Stdout + got.Stderr
}

// address is the pod's address, where the host reaches it as a node would.
func (p *pod) address() string {
	p.t.Helper()
	return mustDocker(p.t, "container", "inspect", "--format", `{{(index .NetworkSettings.Networks "`+p.cluster.network+`").IPAddress}}`, p.sandbox)
}

// stop ends the pod's containers at once, as a kubelet does, and returns their
// exit codes and how long it took. After the grace period they are killed.
func (p *pod) stop() (codes map[string]string, took time.Duration) {
	p.t.Helper()
	grace := strconv.FormatInt(*p.spec.TerminationGracePeriodSeconds, 10)
	began := time.Now()
	done := make(chan result)
	for _, c := range p.spec.Containers {
		go func() { done <- docker("stop", "--time", grace, p.containers[c.Name]) }()
	}
	for range p.spec.Containers {
		if got := <-done; got.Code != 0 {
			p.t.Errorf("docker stop: %s", got.Stderr)
		}
	}
	took, codes = time.Since(began), map[string]string{}
	for _, c := range p.spec.Containers {
		codes[c.Name] = mustDocker(p.t, "container", "inspect", "--format", "{{.State.ExitCode}}", p.containers[c.Name])
	}
	return codes, took
}

// remove ends what is left of the pod. Of a failed test it shows the logs.
func (p *pod) remove() {
	for name, container := range p.containers {
		if p.t.Failed() {
			p.t.Logf("log of %s, %s:\n%s", p.name, name, p.log(name))
		}
		docker("container", "rm", "--force", container)
	}
	docker("container", "rm", "--force", p.sandbox)
	clear(p.containers)
}
