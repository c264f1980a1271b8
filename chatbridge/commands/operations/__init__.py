"""Operations, the runs of commands: from the call to the stored end, across restarts of the hub.

operations: the life of an operation as a whole
gate: whether a command needs an approval, and the approval itself
active_operations: operations that have not ended, and changes of their stages
fair_queue: whose turn it is
execution: hands operations to the runner and takes their ends
runner_port: what operations need of a runner
runner_client: the hub's connection to the runner process
outputs: what commands printed: the files, and their removal after a while
announcing: tells the chats that a long operation has ended
"""
