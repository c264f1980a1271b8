"""Commands for people. A command is a module with `main` and `parser`; see `__main__`.

commands: the arguments of some commands
ui: how commands run, print and ask
setup: `chatbridge setup`
doctor: `chatbridge doctor`
connect: `chatbridge connect` and `disconnect`
people: `chatbridge pair` and `people`
agents: `chatbridge hook`, `serve`, `token` and `tools`
questions: `chatbridge ask`, `notify`, `pending`, `answer`, `cancel` and `history`
hub: `chatbridge status`, `version`, `stop` and `inbox`
service: `chatbridge service`
config_file: changes config.toml
demo: `chatbridge demo`
completion: `chatbridge completion`
"""
