// The AI SDK's client of MCP Events with its own webhook handler: subscribes, receives, renews and ends a subscription.
// Standard input has the URL, the token, the event, and the request that causes one. The library of Standard Webhooks
// verifies each POST besides; standard output has what arrived.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createMCPClient, experimental_createMCPEventWebhook as createMCPEventWebhook } from "@ai-sdk/mcp";
import { Webhook } from "standardwebhooks";

const { url, token, name, args, cause } = JSON.parse(await text(process.stdin));
const kept = new Map();
const store = {
  get: async (key) => kept.get(key),
  getById: async (id) => [...kept.values()].find((one) => one.id === id),
  set: async (one) => void kept.set(one.key, one),
  update: async (key, patch) => void kept.set(key, { ...kept.get(key), ...patch }),
  delete: async (key) => void kept.delete(key),
};
const found = { posts: [], events: [], errors: [] };
let arrived;
const event = new Promise((resolve) => { arrived = resolve; });
const handler = createMCPEventWebhook({
  store,
  onEvent: async ({ event: one, subscription }) => { found.events.push({ ...one, id: subscription.id }); arrived(); },
  onError: (error) => found.errors.push(String(error)),
});
const server = createServer(async (request, response) => {
  const body = await text(request);
  const address = new URL(request.url, "http://127.0.0.1");
  const { secret } = kept.get(address.searchParams.get("mcp_event_subscription")).delivery;
  let verified = true;
  try { new Webhook(secret).verify(body, request.headers); } catch { verified = false; }
  const answer = await handler(new Request(address, { method: request.method, headers: request.headers, body }));
  found.posts.push({ type: JSON.parse(body).type ?? "event", verified, status: answer.status });
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const callback = `http://127.0.0.1:${server.address().port}/mcp-events`;

const transport = { type: "http", url, headers: { authorization: `Bearer ${token}` } };
const client = await createMCPClient({ transport, experimental_events: { store } });
const events = client.experimental_events;
found.listed = (await events.list()).events.find((one) => one.name === name);
const delivery = { mode: "webhook", url: callback, allowInsecureLocalhost: true };
found.subscribed = await events.subscribe({ name, arguments: args, delivery, ttlMs: 3_600_000 });
found.caused = (await fetch(cause.url, { method: "POST", headers: cause.headers, body: cause.body })).status;
await event;
found.renewed = await events.refresh({ id: found.subscribed.id });
await events.unsubscribe({ id: found.subscribed.id });
await client.close();
server.close();
process.stdout.write(JSON.stringify(found), () => process.exit(0));
