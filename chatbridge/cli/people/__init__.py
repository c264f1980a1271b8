"""Commands about who may answer.

people: `chatbridge people`
pair: `chatbridge pair`
"""
