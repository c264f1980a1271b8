"""`chatbridge inbox`: the way from a browser to the inbox, here and on a phone.

link: a link that logs a browser in
phone: `--phone`, from nothing to a code that a phone scans
tailscale: what the program `tailscale` says and does
"""
