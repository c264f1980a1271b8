"""Definition files: what they may say, how they are read and checked, and the commands in them.

definition: the schema as models, and a command as the rest of the program sees it
library: all definitions of the owner: finds the files, reads them, keeps what they define
check: the validator: a file as a definition, or all of its problems
json_text: reads JSON, with the place of every value
patterns: regular expressions of definitions, in linear time
problems: what is wrong with a file, and the models' refusals in plain words
rules: rules between fields, and for values beyond their types
versions: translates files of version 1 into the newest version
watch: tells when definition files change
"""
