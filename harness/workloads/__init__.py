"""What is trained: data, network and loss, the built-in ones and a user's."""
