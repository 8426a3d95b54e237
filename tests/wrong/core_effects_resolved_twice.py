from cartesius.effects.strands import Future

tide = Future("tide")
tide.resolve(3)
tide.resolve(4)
