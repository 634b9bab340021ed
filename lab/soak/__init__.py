"""An hour of mixed load while something breaks every two minutes: what grows, and is anything lost?"""
