from cartesius.effects.strands import Future, await_, interleave

tide, wind, rain = Future("tide"), Future(), Future()

interleave([lambda: await_(wind), lambda: await_(tide), lambda: await_(rain), lambda: await_(tide)])
