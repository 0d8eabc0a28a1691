"""The browser's part of connecting an account: it logs people in and shows them pages; it holds no key."""
