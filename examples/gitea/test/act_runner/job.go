package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"

	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
)

// workflow is the one job of a task, as Gitea sends it.
type workflow struct {
	Jobs map[string]struct {
		Steps []struct{ Run string }
	}
}

// job is a task on its way.
type job struct {
	client runnerv1connect.RunnerServiceClient
	task   *runnerv1.Task
	lines  int64
	state  *runnerv1.TaskState
}

// run runs the steps, until one fails, and tells the forge of each.
func (j *job) run(ctx context.Context) error {
	var w workflow
	if err := yaml.Unmarshal(j.task.GetWorkflowPayload(), &w); err != nil {
		return err
	}
	j.state = &runnerv1.TaskState{Id: j.task.GetId(), StartedAt: timestamppb.Now()}
	if err := j.update(ctx); err != nil {
		return err
	}
	result := runnerv1.Result_RESULT_SUCCESS
	for _, one := range w.Jobs {
		for number, step := range one.Steps {
			state := &runnerv1.StepState{Id: int64(number), StartedAt: timestamppb.Now(), LogIndex: j.lines, Result: runnerv1.Result_RESULT_SKIPPED}
			j.state.Steps = append(j.state.Steps, state)
			if result == runnerv1.Result_RESULT_SUCCESS {
				result = j.step(ctx, step.Run)
				state.Result = result
			}
			state.LogLength, state.StoppedAt = j.lines-state.LogIndex, timestamppb.Now()
			if err := j.update(ctx); err != nil {
				return err
			}
		}
	}
	if err := j.log(ctx, true); err != nil {
		return err
	}
	j.state.Result, j.state.StoppedAt = result, timestamppb.Now()
	return j.update(ctx)
}

// step runs a script and sends its lines as they come.
func (j *job) step(ctx context.Context, script string) runnerv1.Result {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-e", "-c", script)
	output, input := io.Pipe()
	cmd.Stdout, cmd.Stderr = input, input
	go func() { _ = input.CloseWithError(cmd.Run()) }()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if err := j.log(ctx, false, lines.Text()); err != nil {
			fmt.Println("cannot send the log:", err)
		}
	}
	if lines.Err() != nil {
		_ = j.log(ctx, false, lines.Err().Error())
		return runnerv1.Result_RESULT_FAILURE
	}
	return runnerv1.Result_RESULT_SUCCESS
}

func (j *job) log(ctx context.Context, last bool, lines ...string) error {
	request := &runnerv1.UpdateLogRequest{TaskId: j.task.GetId(), Index: j.lines, NoMore: last}
	for _, line := range lines {
		request.Rows = append(request.Rows, &runnerv1.LogRow{Time: timestamppb.Now(), Content: line})
	}
	j.lines += int64(len(lines))
	return again(func() error { _, err := j.client.UpdateLog(ctx, connect.NewRequest(request)); return err })
}

func (j *job) update(ctx context.Context) error {
	return again(func() error {
		_, err := j.client.UpdateTask(ctx, connect.NewRequest(&runnerv1.UpdateTaskRequest{State: j.state}))
		return err
	})
}

// again bears a forge that is away for a moment.
func again(try func() error) (err error) {
	for range 20 {
		if err = try(); err == nil || connect.CodeOf(err) != connect.CodeUnavailable {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}
