"""The routes for administrators; a room adds a file here and its router to `rest_api.resolver`."""
