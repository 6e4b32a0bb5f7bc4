"""Reads a throw from standard input and prints how far the ball flies, in metres."""

import json
import math
import sys

row = json.load(sys.stdin)
if row["drag"] > 0.045:
    sys.exit("the step is too long for this drag")
vx = row["speed"] * math.cos(math.radians(row["angle"]))
vy = row["speed"] * math.sin(math.radians(row["angle"]))
x, y, step = 0.0, 0.0, 1e-3
while y >= 0:
    drag = row["drag"] * math.hypot(vx, vy)
    vx, vy = vx - drag * vx * step, vy - (9.81 + drag * vy) * step
    x, y = x + vx * step, y + vy * step
print(round(x, 3))
