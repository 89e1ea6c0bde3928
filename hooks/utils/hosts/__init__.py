"""What hosts give and take: one folder each, for the formats of a coding agent and the names of its tools."""
