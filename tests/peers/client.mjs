// A TypeScript SDK's client as a newcomer: it finds the login, registers, logs in as a person, and uses each meta-tool.
import { createInterface } from "node:readline";

const { sdk, url, person, batch } = JSON.parse(await read(process.stdin));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await load(sdk);

class Login {
  redirectUrl = "http://localhost:8787/callback";
  clientMetadata = { client_name: sdk, redirect_uris: [this.redirectUrl] };
  landed = undefined;
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }

  // What a person does in the browser: open the page, choose who they are, and let the client act.
  async redirectToAuthorization(address) {
    const sent = await fetch(address, { redirect: "manual" });
    const cookie = sent.headers.getSetCookie().map((one) => one.split(";")[0]).join("; ");
    const chosen = await post(sent.headers.get("location"), { sub: person });
    const asked = await fetch(chosen.headers.get("location"), { headers: { cookie }, redirect: "manual" });
    const login = /name="login" value="(.*?)"/.exec(await asked.text())[1];
    const origin = new URL(address).origin;
    const agreed = await post(`${origin}/login/consent`, { login, decision: "allow" }, { cookie, origin });
    this.landed = new URL(agreed.headers.get("location")).searchParams;
  }
}

const login = new Login();
const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: login });
const newcomer = () => new Client({ name: sdk, version: "1" }, { versionNegotiation: { mode: "auto" } });

const refused = transport();
try {
  await newcomer().connect(refused);
  throw new Error("nobody asked for a login");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
await refused.finishAuth(sdk.endsWith("client") ? login.landed : login.landed.get("code"));

const client = newcomer();
await client.connect(transport());
const use = async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text;
console.log(JSON.stringify({
  protocol: client.getNegotiatedProtocolVersion?.(),
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  schema: JSON.parse(await use("get_module_schema", { modules: ["rag"] })),
  call: await use("call", { module: "rag", tool: "list_tags" }),
  batch: await use("batch", { commands: batch }),
}));
await client.close();

async function post(address, form, headers = {}) {
  return await fetch(address, { method: "POST", body: new URLSearchParams(form), headers, redirect: "manual" });
}

async function load(name) {
  if (name.endsWith("client")) return await import(name);
  const parts = ["index", "streamableHttp", "auth"].map((part) => import(`${name}/client/${part}.js`));
  return Object.assign({}, ...(await Promise.all(parts)));
}

async function read(stream) {
  let text = "";
  for await (const line of createInterface({ input: stream })) text += line;
  return text;
}
