module garm-entrypoint/examples/gitea/test

go 1.26.2

require (
	code.gitea.io/actions-proto-go v0.4.1
	connectrpc.com/connect v1.18.1
	garm-entrypoint v0.0.0-00010101000000-000000000000
	go.yaml.in/yaml/v3 v3.0.4
	google.golang.org/protobuf v1.36.11
)

replace garm-entrypoint => ../../..
