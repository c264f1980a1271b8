"""The built-in web inbox: pages for a browser on this computer, and an API for scripts."""
