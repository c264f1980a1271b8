"""Operations, the runs of commands: from the call to the stored end, across restarts of the hub.

operations: the life of an operation as a whole
gate: whether a command needs an approval, and the approval itself
execution: operations that have not ended: hands them to the runner and takes their ends
fair_queue: whose turn it is
runner_client: the connection to the runner process
outputs: what commands printed: the files, and their removal after a while
"""
