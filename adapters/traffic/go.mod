module longlook.example/adapters/traffic

go 1.26.0
