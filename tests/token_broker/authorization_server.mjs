// A real authorization server on loopback, with what the tests need to steer it.
// Started by authorization_server.py: node authorization_server.mjs <folder node_modules>; it ends with its stdin.

import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { Provider } = await import(pathToFileURL(join(process.argv[2], "oidc-provider/lib/index.js")));

const GRANT_SECONDS = 86_400;
const asUsual = { mode: "strict", access_seconds: 300, delay_seconds: 0, hold: "" };
const control = { ...asUsual };
const counted = { redeems: [], refused: [], waiting: 0, revoked: 0 };
let release = () => {};
let released = Promise.resolve();

// -- what it keeps -----------------------------------------------------------------------------------

const kept = new Map();

class Store {
  constructor(model) {
    this.model = model;
  }

  key(id) {
    return `${this.model}:${id}`;
  }

  async upsert(id, payload) {
    kept.set(this.key(id), payload);
  }

  async find(id) {
    return kept.get(this.key(id));
  }

  async findByUid(uid) {
    return [...kept.values()].find((payload) => payload.uid === uid && payload.kind === this.model);
  }

  async consume(id) {
    const payload = kept.get(this.key(id));
    // Lenient: the former refresh token redeems once more, as where a provider allows for a lost answer.
    if (this.model === "RefreshToken" && control.mode === "lenient" && !payload.redeemed) payload.redeemed = true;
    else payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id) {
    kept.delete(this.key(id));
  }

  async revokeByGrantId(grantId) {
    for (const [key, payload] of kept) if (payload.grantId === grantId) kept.delete(key);
  }
}

function alive() {
  const now = Date.now() / 1000;
  const standing = (kind) =>
    [...kept.values()]
      .filter((payload) => payload.kind === kind && payload.exp > now && !payload.consumed)
      .filter((payload) => kept.has(`Grant:${payload.grantId}`))
      .map((payload) => payload.jti);
  return { access_tokens: standing("AccessToken"), refresh_tokens: standing("RefreshToken") };
}

// -- the server itself -------------------------------------------------------------------------------

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  adapter: Store,
  claims: { openid: ["sub"], profile: ["name"] },
  conformIdTokenClaims: false,
  cookies: { keys: [randomUUID()] },
  expiresWithSession: () => false,
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: "read write", accessTokenFormat: "opaque" }),
      useGrantedResource: () => true,
    },
    revocation: { enabled: true },
  },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: id[0].toUpperCase() + id.slice(1) }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  jwks: { keys: [generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })] },
  issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
  pkce: { required: () => true },
  rotateRefreshToken: () => true,
  scopes: ["openid", "profile", "read", "write"],
  ttl: {
    AccessToken: () => control.access_seconds,
    AuthorizationCode: 60,
    Grant: GRANT_SECONDS,
    IdToken: 300,
    Interaction: 600,
    RefreshToken: GRANT_SECONDS,
    Session: GRANT_SECONDS,
  },
});

provider.use(async (ctx, next) => {
  if (ctx.path !== "/token") return next();
  await stopped("asked");
  await next();
  const { grant_type: type, refresh_token: token } = ctx.oidc?.params ?? {};
  if (type === "refresh_token") {
    if (ctx.status === 200) counted.redeems.push(token);
    else counted.refused.push(token);
  }
  if (control.delay_seconds) await new Promise((resolve) => setTimeout(resolve, control.delay_seconds * 1000));
  await stopped("answered");
});

provider.on("grant.revoked", () => {
  counted.revoked += 1;
});
provider.on("server_error", (_, error) => console.error(error));

async function stopped(moment) {
  if (control.hold !== moment) return;
  counted.waiting += 1;
  await released;
  counted.waiting -= 1;
}

// -- the person's page -------------------------------------------------------------------------------

const escaped = (text) => String(text).replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);

async function interaction(request, response) {
  const { uid, params, prompt } = await provider.interactionDetails(request, response);
  if (request.method === "GET") {
    response.setHeader("content-type", "text/html; charset=utf-8");
    return response.end(`<!doctype html><html lang="en"><title>Sign in</title><h1>Allow access?</h1>
<form method="post" action="/interaction/${uid}">
<p>${escaped(params.client_id)} asks for: ${escaped(params.scope ?? "nothing")}</p>
<p><label>Account <input name="account" value="uma" autofocus></label></p>
<p><button name="answer" value="allow">Allow</button> <button name="answer" value="deny">Deny</button></p>
</form></html>`);
  }
  const form = new URLSearchParams(await body(request));
  const result =
    form.get("answer") === "allow"
      ? { login: { accountId: form.get("account") }, consent: { grantId: await granted(form.get("account"), params) } }
      : { error: "access_denied", error_description: `the person said no to ${prompt.name}` };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

async function granted(accountId, { client_id: clientId, scope, resource }) {
  const grant = new provider.Grant({ accountId, clientId });
  grant.addOIDCScope(scope ?? "openid");
  if (resource) grant.addResourceScope(resource, scope ?? "");
  return grant.save();
}

// -- what the tests steer ----------------------------------------------------------------------------

const operations = {
  "GET /control": () => ({ ...counted, ...control, alive: alive() }),
  "POST /control": (changes) => {
    Object.assign(control, changes);
    release();
    released = new Promise((resolve) => {
      release = resolve;
    });
    return control;
  },
  "POST /control/reset": () => {
    Object.assign(counted, { redeems: [], refused: [], revoked: 0 });
    return operations["POST /control"](asUsual);
  },
  "POST /control/grants": async ({ client_id: clientId, account, scope }) => {
    const client = await provider.Client.find(clientId);
    const grantId = await granted(account, { client_id: clientId, scope });
    const told = { accountId: account, client, grantId, gty: "authorization_code", scope };
    return {
      access_token: await new provider.AccessToken(told).save(),
      refresh_token: await new provider.RefreshToken(told).save(),
      expires_in: control.access_seconds,
    };
  },
};

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const handle = provider.callback();

server.on("request", async (request, response) => {
  try {
    const operation = operations[`${request.method} ${request.url}`];
    if (operation) return response.end(JSON.stringify(await operation(JSON.parse((await body(request)) || "{}"))));
    if (request.url.startsWith("/interaction/")) return await interaction(request, response);
    return handle(request, response);
  } catch (error) {
    console.error(error);
    response.statusCode = 500;
    return response.end(String(error));
  }
});

process.stdin.on("end", () => process.exit(0)).resume();
console.log(issuer);
