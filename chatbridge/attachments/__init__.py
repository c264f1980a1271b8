"""Files of asks, notices and answers: stored, recognised, shrunk, and kept within limits.

files: the bytes of attachments in the state directory, and when they are removed
quota_folder: a folder with a quota, whose files are written whole
content_type: what a file is, by its content, and names that are safe to show
pictures: previews of pictures, made by a worker process
picture_worker: that process; decodes one picture at a time, within limits
project_files: files of an agent's project, opened without leaving it
received_copies: copies of what a person sent, in the project where the owner wants them there
settings: the table `[attachments]`
"""
