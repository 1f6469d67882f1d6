package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
)

// registration is what register leaves for daemon, in the form and place of act_runner's.
type registration struct {
	ID      int64    `json:"id"`
	UUID    string   `json:"uuid"`
	Token   string   `json:"token"`
	Address string   `json:"address"`
	Labels  []string `json:"labels"`
}

const (
	registrationFile = ".runner"
	fetchPause       = time.Second // act_runner's is 2 s
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := errors.New("usage: act_runner register|daemon")
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "register":
			err = register(ctx, os.Args[2:])
		case "daemon":
			err = daemon(ctx)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "act_runner:", err)
		os.Exit(1)
	}
}

func register(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("register", flag.ContinueOnError)
	flags.Bool("no-interactive", false, "")
	ephemeral := flags.Bool("ephemeral", false, "")
	address, token := flags.String("instance", "", ""), flags.String("token", "", "")
	name, labels := flags.String("name", "", ""), flags.String("labels", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	made, err := client(registration{Address: *address}).Register(ctx, connect.NewRequest(&runnerv1.RegisterRequest{
		Name: *name, Token: *token, Version: "v0.2.13", Labels: strings.Split(*labels, ","), Ephemeral: *ephemeral}))
	if err != nil {
		return err
	}
	runner := made.Msg.GetRunner()
	data, err := json.Marshal(registration{ID: runner.GetId(), UUID: runner.GetUuid(), Token: runner.GetToken(), Address: *address,
		Labels: strings.Split(*labels, ",")})
	if err != nil {
		return err
	}
	return os.WriteFile(registrationFile, data, 0o600)
}

// client is one of the runner service of a Gitea; it sends the runner's credentials along.
func client(r registration) runnerv1connect.RunnerServiceClient {
	credentials := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
			request.Header().Set("X-Runner-Uuid", r.UUID)
			request.Header().Set("X-Runner-Token", r.Token)
			return next(ctx, request)
		}
	})
	return runnerv1connect.NewRunnerServiceClient(http.DefaultClient, strings.TrimSuffix(r.Address, "/")+"/api/actions", connect.WithInterceptors(credentials))
}

// daemon waits for one job and runs it. Asked to end, it ends when it is idle; a job is finished first.
func daemon(ctx context.Context) error {
	data, err := os.ReadFile(registrationFile)
	if err != nil {
		return err
	}
	var r registration
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	c := client(r)
	if _, err := c.Declare(ctx, connect.NewRequest(&runnerv1.DeclareRequest{Version: "v0.2.13", Labels: r.Labels})); err != nil {
		return err
	}
	for version := int64(0); ; {
		answer, err := c.FetchTask(ctx, connect.NewRequest(&runnerv1.FetchTaskRequest{TasksVersion: version}))
		switch {
		case ctx.Err() != nil:
			return nil
		case connect.CodeOf(err) == connect.CodeUnauthenticated: // the forge forgot us
			return err
		case err != nil:
			fmt.Fprintln(os.Stderr, "act_runner:", err)
		case answer.Msg.GetTask() != nil:
			return (&job{client: c, task: answer.Msg.GetTask()}).run(context.WithoutCancel(ctx))
		default:
			version = answer.Msg.GetTasksVersion()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(fetchPause):
		}
	}
}
