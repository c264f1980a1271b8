"""Databases as releases left them, as text: a test opens each with the present code."""
