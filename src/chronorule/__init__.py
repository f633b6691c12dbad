"""Learn readable temporal logic rules that explain when a target event happens."""
