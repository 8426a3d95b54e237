from cartesius.effects.strands import Future, await_, interleave

tide = Future("tide")

interleave([lambda: print("at sea"), lambda: print("height", await_(tide))])
