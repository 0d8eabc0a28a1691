// Node clients of other projects: each lists the tools, loads a schema, calls, runs a batch, and lacks an account.
// Run with the client's name; standard input has the URL, the token and the uses, standard output what a model reads.
import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";

const { url, token, uses } = JSON.parse(await text(process.stdin));
const headers = { authorization: `Bearer ${token}` };
const require = createRequire(import.meta.url);
const found = {};

async function session(tools, use) {
  found.tools = tools;
  for (const [key, [name, args]] of Object.entries(uses)) found[key] = await use(name, args);
}

// The path of a program of a package, whatever the package exports.
function program(name, command) {
  const folder = require.resolve.paths(name).map((path) => join(path, name)).find((path) => {
    try { return require(join(path, "package.json")); } catch { return false; }
  });
  return join(folder, require(join(folder, "package.json")).bin[command]);
}

async function sdk(client, transport) {
  await client.connect(transport);
  const use = async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text;
  await session((await client.listTools()).tools.map((tool) => tool.name), use);
  await client.close();
}

const newcomer = { name: "test", version: "1" };
const clients = {
  async typescript_1() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    await sdk(new Client(newcomer), new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  },

  async typescript_2() {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const client = new Client(newcomer, { versionNegotiation: { mode: "auto" } });
    await sdk(client, new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  },

  async mcp_remote() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const home = await mkdtemp(join(tmpdir(), "mcp-remote-"));
    const args = [program("mcp-remote", "mcp-remote"), url, "--header", `Authorization: ${headers.authorization}`];
    const env = { ...process.env, MCP_REMOTE_CONFIG_DIR: home, HOME: home };
    await sdk(new Client(newcomer), new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" }));
  },

  async ai_sdk() {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url, headers } });
    const tools = await client.tools();
    const use = async (name, args) => (await tools[name].execute(args, { messages: [], toolCallId: "1" })).content[0].text;
    await session(Object.keys(tools), use);
    await client.close();
  },

  async mcporter() {
    const home = await mkdtemp(join(tmpdir(), "mcporter-"));
    const config = join(home, "mcporter.json");
    await writeFile(config, JSON.stringify({ mcpServers: { mcpist: { url, headers } } }));
    const run = async (...args) => {
      const command = [program("mcporter", "mcporter"), "--config", config, ...args];
      const env = { ...process.env, HOME: home };
      const done = await promisify(execFile)(process.execPath, command, { env, cwd: home }).catch((error) => error);
      return done.stdout;
    };
    const listed = JSON.parse(await run("list", "mcpist", "--json"));
    const use = (name, args) => run("call", `mcpist.${name}`, "--args", JSON.stringify(args), "--output", "text");
    await session(listed.tools.map((tool) => tool.name), use);
  },
};

await clients[process.argv[2]]();
process.stdout.write(JSON.stringify(found), () => process.exit(0));
