from cartesius import handle

handle("aloud", lambda: 42)
