package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/cloudbase/garm-provider-common/execution"
	"github.com/cloudbase/garm-provider-common/execution/common"
)

func main() {
	// garm kills providers with SIGKILL; a person at a terminal does not.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == runnerCommand {
		err := bootstrap(ctx, agentDir)
		fmt.Fprintln(os.Stderr, "garm-provider-docker:", err) // on success it has become act_runner
		os.Exit(1)
	}
	out, err := serve(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "garm-provider-docker:", err)
		os.Exit(common.ResolveErrorToExitCode(err))
	}
	fmt.Print(out)
}

// serve does what garm asks for in the environment, and returns what garm reads on standard output.
func serve(ctx context.Context) (string, error) {
	env, err := execution.GetEnvironment()
	if err != nil {
		return "", fmt.Errorf("%w (garm starts this program: it is not for running by hand)", err)
	}
	config, err := readConfig(env.ProviderConfigFile)
	if err != nil {
		return "", err
	}
	return env.Run(ctx, &provider{config: config, controller: env.ControllerID, engine: newEngine(config.Socket)})
}
