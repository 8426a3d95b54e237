from cartesius.effects.strands import Future, await_, interleave

left, right = Future("left"), Future("right")

interleave([lambda: right.resolve(await_(left)), lambda: left.resolve(await_(right))])
