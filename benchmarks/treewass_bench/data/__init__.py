"""Making the folder of text sets from public files."""
