"""Prints a table of 300 throws of a ball that could be simulated, none of them labelled."""

import random

draw = random.Random(1)
print("throw,speed,angle,drag,range")
for i in range(300):
    print(f"t{i:03d},{draw.uniform(5, 50):.1f},{draw.uniform(10, 80):.1f},{draw.uniform(0, 0.05):.4f},")
