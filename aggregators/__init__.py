"""What a server does with estimates."""
