"""PopKit in the frameworks that agents are made with: a module each, which needs the framework's own package."""
